import type { Value } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { type Token, TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useRead } from "../../api/queries.js";
import { containsCardNumber } from "../../card-number-text.js";
import { entityAddress } from "../../components/entity-link.js";
import { TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { CursorPages, OffsetPages, usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { filledParams } from "../../filled-params.js";
import { useSession } from "../../session.js";
import { shortTextOfValue } from "../../values.js";
import { isQuery, readSearch } from "./token-query.js";

/** Finds tokens by what the vault knows of them without opening them. */
export function TokenList() {
  const [params] = useSearchParams();
  const [query, container, start] = ["query", "container", "start"].map((name) => params.get(name) ?? "");
  const { query: wanted, isByCursor } = readSearch(query ?? "", container ?? "");
  const searched = { ...(wanted === undefined ? {} : { query: wanted }), size: 50 };
  const byCursor = useRead(
    TokenService.method.searchTokensByCursor,
    { ...searched, ...(start ? { start } : {}) },
    { enabled: isByCursor },
  );
  const byPage = useRead(
    TokenService.method.searchTokens,
    { ...searched, page: usePageNumber() },
    { enabled: !isByCursor },
  );
  const shown = (data: readonly Token[], next = "") => {
    if (data.length > 0) return <TokenTable tokens={data} />;
    return next === "" ? <NoTokens isFiltered={Boolean(query || container)} /> : <NoneYet />;
  };
  return (
    <Screen title="Tokens" actions={<NewTokenLink />}>
      <Search key={params.toString()} query={query ?? ""} container={container ?? ""} />
      {isByCursor ? (
        <Loaded read={byCursor} lines={12}>
          {({ data, pagination }) => (
            <>
              {shown(data, pagination?.next)}
              <CursorPages next={pagination?.next} />
            </>
          )}
        </Loaded>
      ) : (
        <Loaded read={byPage} lines={12}>
          {({ data, pagination }) => (
            <>
              {shown(data)}
              <OffsetPages page={pagination} />
            </>
          )}
        </Loaded>
      )}
    </Screen>
  );
}

function NewTokenLink() {
  if (!useSession().can("TokenService/CreateToken")) return null;
  return (
    <Link href="/tokens?new=1" className="button primary">
      New token
    </Link>
  );
}

function Search({ query, container }: { query: string; container: string }) {
  const [, setParams] = useSearchParams();
  const [draft, setDraft] = useState(query);
  const [path, setPath] = useState(container);
  const isCard = containsCardNumber(draft);
  const submit = () => {
    const typed = draft.trim();
    if (isCard) return;
    setParams(filledParams(typed === "" || isQuery(typed) ? { query: typed, container: path } : { id: typed }));
  };
  return (
    <search>
      <Form className="filters" onSubmit={submit}>
        <TextField
          label="Search"
          value={draft}
          onChange={setDraft}
          placeholder="type:card"
          problem={
            isCard ? "must be without a card number, which the address would keep: use its fingerprint" : undefined
          }
          help={
            <>
              An id, or terms such as <code>type:card AND metadata.customer:1043</code>:{" "}
              <a href="/docs/guides/search">how to search</a>
            </>
          }
        />
        <TextField
          label="Container"
          value={path}
          onChange={setPath}
          placeholder="/pci/"
          help="Tokens in it and below it"
        />
        <button type="submit" className="primary">
          Search
        </button>
      </Form>
    </search>
  );
}

/** A list that compares many tokens ends a page after a time, also without a match. */
function NoneYet() {
  return (
    <Empty>
      <p>None of the tokens compared so far match. “Older” compares more.</p>
    </Empty>
  );
}

function NoTokens({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Empty>
      {isFiltered ? (
        <>
          <p>No token matches.</p>
          <Link href="/tokens" className="button">
            Show all tokens
          </Link>
        </>
      ) : (
        <>
          <p>There are no tokens yet. Make one here, or store a first card with the key of an application.</p>
          <Link href="/" className="button">
            Show the call
          </Link>
        </>
      )}
    </Empty>
  );
}

function TokenTable({ tokens }: { tokens: readonly Token[] }) {
  return (
    <Table
      label="Tokens"
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Id",
          cell: ({ id }) => (
            <Link href={entityAddress("/tokens", id)}>
              <Name>{id}</Name>
            </Link>
          ),
        },
        { head: "Type", cell: ({ type }) => type },
        {
          head: "Masked",
          cell: ({ data }) => (data === undefined ? <Hidden /> : <code dir="auto">{shortMask(data)}</code>),
        },
        { head: "Containers", cell: ({ containers }) => <ContainerLinks paths={containers} /> },
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}

/** No value is shown: the role sees none, or the token has no mask. */
function Hidden() {
  return <span className="quiet">{useSession().who.role === "AUDITOR" ? "not for your role" : "no mask"}</span>;
}

/** A masked value on one line. Of a card: its number and the month in which it expires. */
function shortMask(data: Value): string {
  const fields = data.kind.case === "structValue" ? data.kind.value.fields : {};
  const [number, month, year] = [fields.number, fields.expiration_month, fields.expiration_year].map(shortTextOfValue);
  return number && month && year ? `${number} ${month.padStart(2, "0")}/${year}` : shortTextOfValue(data);
}

/** Containers of a token, each with a link to the tokens in it. */
export function ContainerLinks({ paths }: { paths: readonly string[] }) {
  return paths.map((container, index) => (
    <span key={container}>
      {index > 0 && ", "}
      <Link href={`/tokens?${new URLSearchParams({ container })}`}>
        <Name>{container}</Name>
      </Link>
    </span>
  ));
}
