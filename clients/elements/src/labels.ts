import type { FieldType, Locale } from "./protocol.js";

type Labels = Readonly<Record<FieldType | "controller", string>>;

/** The names of fields and of the hidden frame, for screen readers. */
export const LABELS: Readonly<Record<Locale, Labels>> = {
  en: {
    cardNumber: "Card number",
    cardExpirationDate: "Expiration date",
    cardVerificationCode: "Verification code",
    card: "Card",
    text: "Text",
    reveal: "Protected value",
    copy: "Protected value",
    controller: "Secure connection",
  },
  de: {
    cardNumber: "Kartennummer",
    cardExpirationDate: "Gültig bis",
    cardVerificationCode: "Prüfnummer",
    card: "Karte",
    text: "Text",
    reveal: "Geschützter Wert",
    copy: "Geschützter Wert",
    controller: "Sichere Verbindung",
  },
  fr: {
    cardNumber: "Numéro de carte",
    cardExpirationDate: "Date d’expiration",
    cardVerificationCode: "Code de sécurité",
    card: "Carte",
    text: "Texte",
    reveal: "Valeur protégée",
    copy: "Valeur protégée",
    controller: "Connexion sécurisée",
  },
  es: {
    cardNumber: "Número de tarjeta",
    cardExpirationDate: "Fecha de caducidad",
    cardVerificationCode: "Código de seguridad",
    card: "Tarjeta",
    text: "Texto",
    reveal: "Valor protegido",
    copy: "Valor protegido",
    controller: "Conexión segura",
  },
  ar: {
    cardNumber: "رقم البطاقة",
    cardExpirationDate: "تاريخ الانتهاء",
    cardVerificationCode: "رمز التحقق",
    card: "البطاقة",
    text: "نص",
    reveal: "قيمة محمية",
    copy: "قيمة محمية",
    controller: "اتصال آمن",
  },
};
