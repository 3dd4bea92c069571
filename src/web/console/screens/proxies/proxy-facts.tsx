import type { Proxy as ProxyEntity } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { DetailList } from "../../components/table.js";
import { CodeSample, WholeId } from "../../components/text.js";
import { Time } from "../../components/time.js";

export function ProxyFacts({ proxy }: { proxy: ProxyEntity }) {
  const { id, key, requireAuth, createdAt, modifiedAt } = proxy;
  const call = `curl -s ${location.origin}/proxy -H "BT-PROXY-KEY: ${key === "" ? "$PROXY_KEY" : key}" \\
  ${requireAuth ? '-H "BT-API-KEY: $KEY" ' : ""}-H 'Content-Type: application/json' \\
  -d '{"number":"{{ token_id | json: \\"$.number\\" }}"}'`;
  return (
    <>
      <DetailList
        pairs={[
          ["Id", <WholeId key="id">{id}</WholeId>],
          ["Key", key === "" ? "hidden from your role" : <code key="key">{key}</code>],
          ["Callers need a key", requireAuth ? "yes" : "no"],
          ["Created", <Time key="created" at={createdAt} />],
          ["Changed", modifiedAt && <Time key="modified" at={modifiedAt} />],
        ]}
      />
      <p className="quiet">
        A call of it. Put the id of a token in place of <code>token_id</code>
        {requireAuth && (
          <>
            , and set <code>KEY</code> to the key of an application with <code>token:use</code>
          </>
        )}
        .
      </p>
      <CodeSample label="A call of the proxy" code={call} />
    </>
  );
}
