import { describe, expect, it } from "vitest";
import { unknownFieldFaults } from "../../src/base/unknown-fields.js";
import { TOKEN_FIELDS, UNSERVED_TOKEN_FIELDS } from "../../src/tokens/draft.js";
import { description } from "../support/api-description.js";

const known = ["name", "code", "request_transform", "containers", "data", "expires_at", "require_auth", "id"];
const names = { known, unserved: new Map([["encrypted", "send it as it is"]]) };
const objected = (object: object) => unknownFieldFaults(JSON.parse(JSON.stringify(object)), names);

describe("unknown fields", () => {
  it.each([
    ["requestTransform", "request_transform"],
    ["RequestTransform", "request_transform"],
    ["request-transform", "request_transform"],
    ["request_transfrom", "request_transform"],
    ["requst_transform", "request_transform"],
    ["requestt_transform", "request_transform"],
    ["request_transfarm", "request_transform"],
    ["contianers", "containers"],
    ["container", "containers"],
    ["expire_at", "expires_at"],
    ["Data", "data"],
    ["dta", "data"],
    ["dataa", "data"],
  ])("are reported as misspellings of a known one: %s", (name, meant) => {
    const expected = Math.min(name.length, meant.length) < 4 ? [] : [[name, `is not known; ${meant} is`]];
    expect(objected({ [name]: 1 })).toEqual(expected);
  });

  it.each([
    "mode",
    "date",
    "colour",
    "ID",
    "ids",
    "request_transforms_v2",
    "names_of_all",
    "__proto__",
    "constructor",
    "",
  ])("are ignored if they may come from a newer client: %s", (name) => {
    const object = JSON.parse(`{${JSON.stringify(name)}:1}`);
    expect(unknownFieldFaults(object, names)).toEqual(name === "ID" ? [["ID", "is not known; id is"]] : []);
  });

  it("next to the correctly spelled field are ignored", () => {
    expect(objected({ container: "/a/", containers: ["/a/"] })).toEqual([]);
  });

  it.each([[1], ["x"], [true], [[0]], [{ a: 1 }]])("are rejected if they are not supported: %j", (value) => {
    expect(objected({ encrypted: value })).toEqual([["encrypted", "is not served: send it as it is"]]);
  });

  it.each([[null], [""], [false], [[]], [{}]])("are ignored if they are not supported but empty: %j", (value) => {
    expect(objected({ encrypted: value })).toEqual([]);
  });

  it("are compared with known ones in bounded time, however many there are", () => {
    const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`field_${n}`, n]));
    expect(unknownFieldFaults({ ...many, encrypted: "x" }, names)).toHaveLength(1);
  });
});

/** Fields of a response that programs send back when they read, change and write a resource. */
const ROUND_TRIPS = [
  ["Token", "CreateTokenRequest"],
  ["Token", "UpdateTokenRequest"],
  ["Proxy", "CreateProxyRequest"],
  ["Proxy", "ReplaceProxyRequest"],
  ["Proxy", "UpdateProxyRequest"],
  ["Reactor", "CreateReactorRequest"],
  ["Reactor", "ReplaceReactorRequest"],
  ["Reactor", "UpdateReactorRequest"],
  ["ReactorFormula", "ReplaceReactorFormulaRequest"],
  ["Application", "CreateApplicationRequest"],
  ["Application", "UpdateApplicationRequest"],
  ["Tenant", "UpdateTenantRequest"],
  ["Connection", "ReplaceConnectionRequest"],
  ["ApplicationKey", "ApplicationReferenceInput"],
  ["Application", "ApplicationReferenceInput"],
  ["ReactorFormula", "ReactorFormulaReferenceInput"],
] as const;

describe("a resource that is sent back as it was received", () => {
  const fieldsOf = (schema: string) => {
    const { properties } = description.components.schemas[schema] ?? {};
    if (!properties) throw new Error(`the document has no schema ${schema}`);
    return Object.keys(properties);
  };
  it.each(ROUND_TRIPS)("contains no field that is taken for a mistake: %s in %s", (resource, request) => {
    const fields = Object.fromEntries(fieldsOf(resource).map((name) => [name, "x"]));
    expect(unknownFieldFaults(fields, { known: fieldsOf(request), unserved: new Map() })).toEqual([]);
  });
});

describe("token requests within other JSON", () => {
  it("have the fields of a request of their own", () => {
    expect(TOKEN_FIELDS.toSorted()).toEqual(
      Object.keys(description.components.schemas.CreateTokenRequest?.properties ?? {}).toSorted(),
    );
    const { description: text } = Object(description.components.schemas.CreateTokenRequest);
    for (const name of UNSERVED_TOKEN_FIELDS.keys()) expect(text).toContain(`\`${name}\``);
  });
});
