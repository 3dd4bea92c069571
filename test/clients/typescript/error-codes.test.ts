import { expect, it } from "vitest";
import { CloakroomError, isServerErrorCode } from "../../../clients/typescript/src/errors.js";
import { FAULT_TABLE } from "../../../src/api/faults/fault-table.js";
import { FAULT_CODES } from "../../../src/base/fault.js";

it.each(FAULT_CODES)("the client knows %s of the server, and its status", (code) => {
  if (!isServerErrorCode(code)) throw new Error(`${code} is not known`);
  const error = new CloakroomError({ code, message: "" }, { method: "TokenService/GetToken", attempts: 1 });
  expect(error.status).toBe(FAULT_TABLE[code].http);
});
