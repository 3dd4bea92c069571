import { connect } from "node:net";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { newTenant } from "../../support/tenant.js";

const PATH = "/cloakroom.v1.TokenService/GetToken";
/** The second is one that Connect's own handlers serve. */
const TYPES = ["application/json", "application/json; charset=utf-8"];

describe.each(TYPES)("a call as %s is served whatever its authority says", (type) => {
  let key: string;
  let body: string;
  let id: string;
  beforeAll(async () => {
    const client = await (await newTenant()).backEnd();
    ({ id } = (await client("POST", "/tokens", { body: { type: "token", data: "here" } })).body);
    body = JSON.stringify({ id });
    key = client.key;
  });

  async function responseTo(request: string): Promise<string> {
    const socket = connect(Number(new URL(inject("serverUrl")).port), "127.0.0.1");
    socket.setEncoding("latin1").write(request);
    let said = "";
    for await (const text of socket) said += text;
    return said;
  }

  it.each([
    ["HTTP/1.0 without a Host", `POST ${PATH} HTTP/1.0`, ""],
    ["a Host that is not a name", `POST ${PATH} HTTP/1.1`, "host: a b[\r\n"],
    ["an empty Host", `POST ${PATH} HTTP/1.1`, "host:\r\n"],
  ])("%s", async (_, start, host) => {
    const headers = `bt-api-key: ${key}\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}`;
    expect(await responseTo(`${start}\r\n${host}${headers}\r\n\r\n${body}`)).toContain(`{"id":"${id}"`);
  });
});
