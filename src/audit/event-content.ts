import type { JsonObject } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";

/** What an event says of its entity. The id of its row is that of the event. */
export const eventContentRecord = sealedRecord({ field: "event", write: (content: JsonObject) => content });
