/** Bodies up to this size have a pool of their own. Large bodies never delay them. */
export const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Bytes of memory that a request takes for each byte of its body: the bytes as they arrive and in one piece, their text, the
 * values, the sealed values and the statements for the database. A text of 5 MB takes 40 MB.
 */
export const MEMORY_PER_BODY_BYTE = 8;

/**
 * Body bytes that use as much memory as one stored byte of a token that is read: it is neither parsed together with the
 * rest of a body nor sent to the database. 128 reads of 5 MB at once took the server to 390 MB.
 */
export const BODY_BYTES_FOR_STORED = 1 / 2;
