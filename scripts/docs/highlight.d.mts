/** Code as HTML whose parts have classes, in the languages of the guides. Other languages stay plain. */
export function highlighted(code: string, language?: string): string;
