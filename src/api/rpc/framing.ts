/** Length prefix of a message: one byte of flags, four of length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX_BYTES = 5;
export const COMPRESSED = 1;
/** A unary call sends one, and a frame of trailers. A million empty frames held the event loop for 80 ms. */
export const MAX_FRAMES = 100;
