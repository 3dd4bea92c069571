import { create, type DescService, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ChannelCredentials, Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { ApplicationService, CreateApplicationRequestSchema } from "../../../gen/cloakroom/v1/applications_pb.js";
import {
  CreateTokenRequestSchema,
  GetTokenRequestSchema,
  type Token,
  TokenSchema,
  TokenService,
} from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toJson, toValue } from "../../../src/services/value.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

/** The reference implementation of gRPC for Node, which does not use Connect. */
describe("a client made with grpc-js", () => {
  let client: Client;
  let tenant: TestTenant;
  let key: string;
  beforeAll(async () => {
    tenant = await newTenant();
    key = (await tenant.backEnd()).key;
    client = new Client(new URL(inject("serverUrl")).host, ChannelCredentials.createInsecure());
  });
  afterAll(() => client.close());

  const metadataOf = (headers: Record<string, string>) => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return metadata;
  };
  const call = (
    method: string,
    request: Uint8Array,
    headers: Record<string, string> = { "bt-api-key": key },
    deadline?: Date,
    { typeName }: DescService = TokenService,
  ) =>
    new Promise<Token>((resolve, reject) => {
      client.makeUnaryRequest(
        `/${typeName}/${method}`,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => fromBinary(TokenSchema, bytes),
        request,
        metadataOf(headers),
        { ...(deadline ? { deadline } : {}) },
        (error, token) => (token ? resolve(token) : reject(error)),
      );
    });
  const createRequest = (draft: MessageInitShape<typeof CreateTokenRequestSchema>) =>
    toBinary(CreateTokenRequestSchema, create(CreateTokenRequestSchema, draft));
  const getRequest = (id: string) => toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { id }));
  const errorOf = (made: Promise<unknown>): Promise<ServiceError> =>
    made.then(
      () => {
        throw new Error("the call was served");
      },
      (error: ServiceError) => error,
    );

  it("creates a token and reads it", async () => {
    const created = await call(
      "CreateToken",
      createRequest({ type: "card", data: toValue({ number: "4242424242424242" }) }),
    );
    const read = await call("GetToken", getRequest(created.id));
    expect(read).toMatchObject({ id: created.id, type: "card" });
    expect(read.data && toJson(read.data, "data")).toEqual({ number: "4242424242424242" });
  });

  it("may set a deadline longer than the server's", async () => {
    const deadline = new Date(Date.now() + 10 * 60_000);
    expect(
      await call("CreateToken", createRequest({ type: "token", data: toValue(1) }), undefined, deadline),
    ).toMatchObject({ type: "token" });
  });

  it("gets errors in gRPC status codes", async () => {
    expect(await errorOf(call("GetToken", getRequest("not-there")))).toMatchObject({
      code: status.NOT_FOUND,
      details: "There is no such token.",
    });
    expect(await errorOf(call("GetToken", getRequest("abc"), {}))).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await errorOf(call("CreateToken", createRequest({})))).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await errorOf(call("CreateToken", Buffer.from([0xff])))).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await errorOf(call("Nope", getRequest("abc")))).toMatchObject({ code: status.UNIMPLEMENTED });
    const large = createRequest({ type: "token", data: toValue("x".repeat(6_000_000)) });
    expect(await errorOf(call("CreateToken", large))).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  it("gets as many invalid fields as its 8 KiB of trailers hold", async () => {
    const details = await detailsOf(createApplication(100));
    expect(details.toString()).toContain("rules[0]");
    expect(details.toString("base64").length).toBeLessThan(7_500);
  });

  it("gets the limit of a list, and no field of its items, for a list that is too long", async () => {
    const details = await detailsOf(createApplication(2_000));
    expect(details.toString()).toContain("at most 100");
    expect(details.toString()).not.toContain("rules[0]");
    expect(details.toString("base64").length).toBeLessThan(7_500);
  });

  /** Each of the rules is invalid. */
  function createApplication(count: number) {
    const rules = Array.from({ length: count }, () => ({ priority: 1, container: "none", transform: "mask" }));
    const request = toBinary(
      CreateApplicationRequestSchema,
      create(CreateApplicationRequestSchema, { name: "Rules", type: "private", rules }),
    );
    return call("CreateApplication", request, { "bt-api-key": tenant.managementKey }, undefined, ApplicationService);
  }

  async function detailsOf(made: Promise<unknown>): Promise<Buffer> {
    const error = await errorOf(made);
    expect(error).toMatchObject({ code: status.INVALID_ARGUMENT });
    const [details] = error.metadata.get("grpc-status-details-bin");
    return Buffer.from(details ?? "");
  }

  it("finds code and trace in the details of an error", async () => {
    const error = await errorOf(
      call("GetToken", getRequest("not-there"), { "bt-api-key": key, "bt-trace-id": "grpc-js-1" }),
    );
    const [details] = error.metadata.get("grpc-status-details-bin");
    expect(String(details)).toContain("google.rpc.ErrorInfo");
    expect(String(details)).toContain("not_found");
    expect(String(details)).toContain("grpc-js-1");
  });
});
