import { TokenService } from "../../../../gen/cloakroom/v1/tokens_pb.js";
import type { RestResponse } from "../../../support/rest.js";
import { rpcClient } from "../../../support/rpc.js";
import { AgreeingTenant, type ClockedServer, type Colleague } from "./agreeing-people.js";

const RIGHTS = ["token:export", "token:create", "token:update"];
const CONTAINERS = ["/drop/", "/vault/"];

/** A key of the application, and its id. */
interface HeldKey {
  readonly id: string;
  readonly text: string;
}

interface KnownToken {
  readonly value: string;
  container: string;
  /** The step of its last change. */
  changedIn: number;
}

/** What the vault has told somebody of an export, in the words that it used. */
interface Described {
  readonly by: Colleague;
  readonly hoursAhead: number;
  /** By then the person had been what it is for a day. */
  readonly isSettled: boolean;
  readonly rules: readonly { readonly container: string; readonly transform: string }[];
  readonly container: string | undefined;
  readonly keyIds: readonly string[];
}

interface SeenExport {
  readonly id: string;
  readonly askedIn: number;
  readonly asked: Described;
  approved: Described | undefined;
  isDeleted: boolean;
}

/** A value that an export has shown. */
interface Leaked {
  readonly id: string;
  readonly key: HeldKey;
  readonly container: string | undefined;
}

/**
 * A tenant that asks for approval, and what the vault has shown to each person. The world does not know how the vault
 * decides. A value may leave if two people, members for a day, have both read within the hour that this application shows
 * values of its container in the clear to this key, and the token is as it was at the request.
 */
export class ExportWorld {
  /** Values that left although two people had not both seen them described. */
  readonly unseen: string[] = [];
  /** Values that left with the agreement of two people. */
  revealed = 0;
  readonly #people: AgreeingTenant;
  readonly #choose: (count: number) => number;
  readonly #colleagues: Colleague[];
  /** The hour in which somebody became what they are. */
  readonly #since = new Map<Colleague, number>();
  readonly #tokens = new Map<string, KnownToken>();
  readonly #exports: SeenExport[] = [];
  readonly #keys: HeldKey[] = [];
  #application = "";
  #transform = "reveal";
  #step = 0;

  private constructor(people: AgreeingTenant, colleagues: readonly Colleague[], choose: (count: number) => number) {
    this.#people = people;
    this.#colleagues = [people.owner, ...colleagues];
    this.#choose = choose;
  }

  /** The OWNER and an ADMIN who have been there for a day, and a token in each container. */
  static async create(server: ClockedServer, choose: (count: number) => number): Promise<ExportWorld> {
    const people = await AgreeingTenant.create(server);
    const world = new ExportWorld(people, await people.settled(1), choose);
    await world.#begin();
    return world;
  }

  async #begin(): Promise<void> {
    for (const colleague of this.#colleagues) this.#since.set(colleague, this.#hours - 25);
    const { status } = await this.#people.setApproval(this.#people.owner, "true");
    if (status !== 200) throw new Error(`switching the setting on returned ${status}`);
    const rules = rulesThat(this.#transform);
    const { body } = await this.#manage("POST", "/applications", {
      name: "Mover",
      type: "private",
      rules,
      create_key: true,
    });
    this.#application = body.id;
    this.#keys.push({ id: body.keys[0].id, text: body.key });
    for (const container of CONTAINERS) await this.makeToken(container);
  }

  async ask(scope: { readonly container?: string }): Promise<void> {
    const by = this.#anybody();
    this.#step += 1;
    const asked = { applicationId: this.#application, reason: "moving out", ...scope };
    const { status, body } = await by.call("TokenExportService/RequestTokenExport", asked);
    if (status !== 200) return;
    const shown = this.#described(by, body);
    this.#exports.unshift({ id: body.id, askedIn: this.#step, asked: shown, approved: undefined, isDeleted: false });
  }

  async approve(position: number): Promise<void> {
    const request = this.#exports[position];
    if (!request) return;
    const by = this.#anybody();
    const { status, body } = await by.call("TokenExportService/ApproveTokenExport", { id: request.id });
    if (status === 200) request.approved = this.#described(by, body);
  }

  async deleteExport(): Promise<void> {
    const found = this.#exports[0];
    if (!found) return;
    const { status } = await this.#anybody().call("TokenExportService/DeleteTokenExport", { id: found.id });
    found.isDeleted ||= status === 200;
  }

  async changeRules(transform: "reveal" | "mask"): Promise<void> {
    const body = { name: "Mover", type: "private", rules: rulesThat(transform) };
    const { status } = await this.#manage("PUT", `/applications/${this.#application}`, body);
    if (status === 200) this.#transform = transform;
  }

  async makeKey(): Promise<void> {
    const { status, body } = await this.#manage("POST", `/applications/${this.#application}/keys`);
    if (status === 201) this.#keys.push({ id: body.id, text: body.key });
  }

  async replaceKey(): Promise<void> {
    const { status, body } = await this.#manage("POST", `/applications/${this.#application}/regenerate`);
    if (status === 200) this.#keys.splice(0, this.#keys.length, { id: body.keys[0].id, text: body.key });
  }

  async makeToken(container: string): Promise<void> {
    this.#step += 1;
    const value = `value ${this.#step} of ${container}`;
    const { status, body } = await this.#withKey("POST", "/tokens", {
      type: "token",
      data: value,
      containers: [container],
    });
    if (status !== 201) throw new Error(`making a token returned ${status}: ${JSON.stringify(body)}`);
    this.#tokens.set(body.id, { value, container, changedIn: this.#step });
  }

  async moveToken(container: string): Promise<void> {
    const [id, token] = [...this.#tokens][this.#choose(this.#tokens.size)] ?? [];
    // The vault keeps a token that a change leaves as it is.
    if (!id || !token || token.container === container) return;
    this.#step += 1;
    const { status, body } = await this.#withKey("PATCH", `/tokens/${id}`, { containers: [container] });
    if (status !== 200) throw new Error(`moving a token returned ${status}: ${JSON.stringify(body)}`);
    Object.assign(token, { container, changedIn: this.#step });
  }

  async invite(): Promise<void> {
    const colleague = await this.#people.invite();
    this.#since.set(colleague, this.#hours);
    this.#colleagues.push(colleague);
  }

  async removeMember(): Promise<void> {
    const colleague = this.#colleagues[1 + this.#choose(this.#colleagues.length)];
    if (!colleague) return;
    const { status } = await this.#manage("DELETE", `/tenants/self/members/${colleague.memberId}`);
    if (status !== 204) throw new Error(`removing a member returned ${status}`);
    this.#colleagues.splice(this.#colleagues.indexOf(colleague), 1);
    this.#since.delete(colleague);
  }

  async demoteAndPromote(): Promise<void> {
    const colleague = this.#colleagues[1 + this.#choose(this.#colleagues.length)];
    if (!colleague) return;
    for (const role of ["AUDITOR", "ADMIN"]) {
      await this.#manage("PUT", `/tenants/self/members/${colleague.memberId}`, { role });
    }
    this.#since.set(colleague, this.#hours);
    // Sign-ins end with the role.
    this.pass(0.01);
  }

  async switchOff(): Promise<void> {
    const settings = { require_export_approval: "false" };
    const refused = [
      await this.#people.setApproval(this.#anybody(), "false"),
      await this.#manage("PUT", "/tenants/self", { name: "T", settings }),
    ];
    for (const { status } of refused) if (status === 200) this.unseen.push("the setting was switched off");
  }

  pass(hours: number): void {
    this.#people.server.pass(hours);
  }

  /** Each key tries each export that there is. */
  async exportAll(): Promise<void> {
    for (const key of this.#keys) {
      for (const container of [undefined, ...CONTAINERS]) {
        const scope = container === undefined ? {} : { container };
        const { body } = await this.#withKey("POST", "/tokens/export", scope, key);
        for (const { id, data } of body.data ?? []) this.#judge({ id, key, container }, data);
      }
      await this.#exportAsStream(key);
    }
  }

  async #exportAsStream(key: HeldKey): Promise<void> {
    const { url } = this.#people.server.here;
    const messages = rpcClient(TokenService, "gRPC", { url, key: key.text }).exportTokens({});
    try {
      for await (const { data } of messages) {
        for (const { id, data: value } of data) this.#judge({ id, key, container: undefined }, value?.kind.value);
      }
    } catch (error) {
      if (!String(error).includes("permission_denied") && !String(error).includes("Two people")) throw error;
    }
  }

  #judge(leaked: Leaked, data: unknown): void {
    const token = this.#tokens.get(leaked.id);
    if (!token || data !== token.value) return;
    if (this.#exports.some((one) => this.#covers(one, leaked, token))) this.revealed += 1;
    else this.unseen.push(`${token.value} in ${token.container} by ${leaked.container ?? "everything"}`);
  }

  #covers({ asked, approved, askedIn, isDeleted }: SeenExport, { key }: Leaked, token: KnownToken): boolean {
    if (!approved || isDeleted || asked.by === approved.by) return false;
    const isTimely = this.#hours - approved.hoursAhead < 1 && approved.hoursAhead - asked.hoursAhead < 1;
    return (
      isTimely &&
      token.changedIn < askedIn &&
      [asked, approved].every(
        ({ by, isSettled, rules, container, keyIds }) =>
          isSettled &&
          this.#since.has(by) &&
          (container === undefined || token.container === container) &&
          rules.some((rule) => rule.transform === "reveal") &&
          keyIds.includes(key.id),
      )
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: the body of a response
  #described(by: Colleague, body: any): Described {
    const isSettled = this.#hours - (this.#since.get(by) ?? Number.POSITIVE_INFINITY) >= 24;
    return {
      by,
      hoursAhead: this.#hours,
      isSettled,
      rules: body.rules,
      container: body.container,
      keyIds: body.keyIds,
    };
  }

  #anybody(): Colleague {
    return this.#colleagues[this.#choose(this.#colleagues.length)] ?? this.#people.owner;
  }

  get #hours(): number {
    return this.#people.server.hoursAhead;
  }

  #manage(method: string, path: string, body?: object): Promise<RestResponse> {
    return this.#people.tenant.manage(method, path, body ? { body } : {});
  }

  #withKey(method: string, path: string, body: object, key = this.#keys[0]): Promise<RestResponse> {
    const headers = { "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    return this.#people.tenant.manage(method, path, { body, headers, key: key?.text });
  }
}

function rulesThat(transform: string) {
  return [{ priority: 1, container: "/", transform, permissions: RIGHTS }];
}
