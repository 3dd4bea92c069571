/** Bodies up to this size have a pool of their own. Large bodies never delay them. */
export const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Bytes of memory that a request takes for each byte of its body: the bytes as they arrive and in one piece, their text, the
 * values, the sealed values and the statements for the database. A text of 5 MB takes 40 MB.
 */
export const BYTES_FOR_EACH = 8;
