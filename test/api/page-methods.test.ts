import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { PageAccess, policy } from "../../gen/cloakroom/v1/options_pb.js";
import { SERVICES } from "../../src/server/served-services.js";

/*
 * What of a page may call which method, with the key of an application that shows hosted fields. A new method is for none
 * of them until somebody has thought it through.
 */

/** With the key alone. Each says why this tells a page nothing of what is typed into its fields. */
const BY_KEY: Readonly<Record<string, string>> = {
  GetApplicationByKey: "shows the application: its name, rights and templates depend on no value",
  ListPermissions: "is the same for everybody",
  GetServerVersion: "is the same for everybody",
  CreateThreeDSSession:
    "shows the brand of a card, which a token's response shows too; authenticating needs a back end",
};

/** Under a frame's pass: the server shapes what these take and return. */
const BY_FRAME = ["CreateSession", "CreateToken", "Tokenize"];
const BY_FRAME_WITH_SESSION = ["GetToken"];

const methods: readonly DescMethod[] = SERVICES.flatMap((service) => service.methods);
const named = (access: PageAccess) =>
  methods.filter((method) => getOption(method, policy).pages === access).map(({ name }) => name);

describe("the methods that pages may call", () => {
  it("are these and no others", () => {
    expect(named(PageAccess.KEY).toSorted()).toEqual(Object.keys(BY_KEY).toSorted());
    expect(named(PageAccess.FRAME).toSorted()).toEqual(BY_FRAME);
    expect(named(PageAccess.FRAME_SESSION)).toEqual(BY_FRAME_WITH_SESSION);
    expect(named(PageAccess.UNSPECIFIED)).toHaveLength(methods.length - 8);
    expect(methods.length).toBeGreaterThan(100);
  });
});
