import { LABELS } from "../../../clients/elements/src/labels.js";
import type { FieldType, Locale } from "../../../clients/elements/src/protocol.js";

export const ERROR_CODES = ["required", "incomplete", "invalid", "expired", "unsupported", "retype"] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface Texts {
  readonly labels: Readonly<Record<FieldType, string>>;
  readonly errors: Readonly<Record<ErrorCode, string>>;
  /** In their place for one kind of entry, by its name. */
  readonly errorsByEntry: Readonly<Record<string, Partial<Record<ErrorCode, string>>>>;
  readonly show: string;
  readonly hide: string;
  readonly copy: string;
  readonly copied: string;
  readonly failed: string;
}

export function fieldLabel({ labels }: Texts, type: FieldType): string {
  return labels[type];
}

/** What is wrong with an entry of this name, such as `cardnumber`. */
export function errorText({ errors, errorsByEntry }: Texts, entry: string, code: ErrorCode): string {
  return errorsByEntry[entry]?.[code] ?? errors[code];
}

export const TEXTS: Readonly<Record<Locale, Texts>> = {
  en: {
    labels: LABELS.en,
    errors: {
      required: "This field is required.",
      incomplete: "This entry is incomplete.",
      invalid: "This entry is not valid.",
      expired: "This card has expired.",
      unsupported: "This entry cannot be used here.",
      retype: "Empty this field and type the number again.",
    },
    errorsByEntry: {
      cardnumber: { incomplete: "The card number is incomplete.", invalid: "The card number is not valid." },
      "exp-date": { incomplete: "The expiry date is incomplete.", invalid: "The expiry date is not valid." },
      cvc: { incomplete: "The security code is incomplete." },
    },
    show: "Show",
    hide: "Hide",
    copy: "Copy",
    copied: "Copied",
    failed: "Not available",
  },
  de: {
    labels: LABELS.de,
    errors: {
      required: "Dieses Feld ist erforderlich.",
      incomplete: "Diese Angabe ist unvollständig.",
      invalid: "Diese Angabe ist ungültig.",
      expired: "Diese Karte ist abgelaufen.",
      unsupported: "Diese Angabe ist hier nicht möglich.",
      retype: "Leeren Sie das Feld und geben Sie die Nummer neu ein.",
    },
    errorsByEntry: {
      cardnumber: { incomplete: "Die Kartennummer ist unvollständig.", invalid: "Die Kartennummer ist ungültig." },
      "exp-date": { incomplete: "Das Ablaufdatum ist unvollständig.", invalid: "Das Ablaufdatum ist ungültig." },
      cvc: { incomplete: "Der Sicherheitscode ist unvollständig." },
    },
    show: "Anzeigen",
    hide: "Verbergen",
    copy: "Kopieren",
    copied: "Kopiert",
    failed: "Nicht verfügbar",
  },
  fr: {
    labels: LABELS.fr,
    errors: {
      required: "Ce champ est obligatoire.",
      incomplete: "Cette saisie est incomplète.",
      invalid: "Cette saisie n’est pas valide.",
      expired: "Cette carte a expiré.",
      unsupported: "Cette saisie n’est pas acceptée ici.",
      retype: "Videz ce champ et saisissez de nouveau le numéro.",
    },
    errorsByEntry: {
      cardnumber: { incomplete: "Le numéro de carte est incomplet.", invalid: "Le numéro de carte n’est pas valide." },
      "exp-date": {
        incomplete: "La date d’expiration est incomplète.",
        invalid: "La date d’expiration n’est pas valide.",
      },
      cvc: { incomplete: "Le code de sécurité est incomplet." },
    },
    show: "Afficher",
    hide: "Masquer",
    copy: "Copier",
    copied: "Copié",
    failed: "Indisponible",
  },
  es: {
    labels: LABELS.es,
    errors: {
      required: "Este campo es obligatorio.",
      incomplete: "Este dato está incompleto.",
      invalid: "Este dato no es válido.",
      expired: "Esta tarjeta ha caducado.",
      unsupported: "Este dato no se admite aquí.",
      retype: "Vacíe el campo y escriba de nuevo el número.",
    },
    errorsByEntry: {
      cardnumber: {
        incomplete: "El número de tarjeta está incompleto.",
        invalid: "El número de tarjeta no es válido.",
      },
      "exp-date": {
        incomplete: "La fecha de caducidad está incompleta.",
        invalid: "La fecha de caducidad no es válida.",
      },
      cvc: { incomplete: "El código de seguridad está incompleto." },
    },
    show: "Mostrar",
    hide: "Ocultar",
    copy: "Copiar",
    copied: "Copiado",
    failed: "No disponible",
  },
  ar: {
    labels: LABELS.ar,
    errors: {
      required: "هذا الحقل مطلوب.",
      incomplete: "هذا الإدخال غير مكتمل.",
      invalid: "هذا الإدخال غير صالح.",
      expired: "انتهت صلاحية هذه البطاقة.",
      unsupported: "لا يمكن استخدام هذا الإدخال هنا.",
      retype: "أفرغ هذا الحقل واكتب الرقم من جديد.",
    },
    errorsByEntry: {
      cardnumber: { incomplete: "رقم البطاقة غير مكتمل.", invalid: "رقم البطاقة غير صالح." },
      "exp-date": { incomplete: "تاريخ انتهاء الصلاحية غير مكتمل.", invalid: "تاريخ انتهاء الصلاحية غير صالح." },
      cvc: { incomplete: "رمز الأمان غير مكتمل." },
    },
    show: "إظهار",
    hide: "إخفاء",
    copy: "نسخ",
    copied: "تم النسخ",
    failed: "غير متاح",
  },
};
