import { useSearchParams } from "wouter";
import { ProxyService } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { CHANGED, CREATED, EntityList } from "../../components/entity-list.js";
import { Loaded, Permitted } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Name } from "../../components/text.js";
import { useSession } from "../../session.js";
import { FailedRuns, RunList } from "../code/failed-runs.js";
import { CallProxy } from "./call-proxy.js";
import { ProxyEditor } from "./proxy-editor.js";
import { ProxyFacts } from "./proxy-facts.js";

const CREATE = "ProxyService/CreateProxy";

export default function Proxies() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewProxy />;
  return id === null ? <ProxyList /> : <ProxyDetails key={id} id={id} />;
}

function ProxyList() {
  const proxies = useRead(ProxyService.method.listProxies, { page: usePageNumber(), size: 50 });
  return (
    <EntityList
      title="Proxies"
      path="/proxies"
      list={proxies}
      page={proxies.data?.pagination}
      add={{ operation: CREATE, text: "New proxy" }}
      purpose="There are no proxies. A proxy puts the values of tokens into requests to a partner, so your programs never hold them."
      nameOf={({ name }) => name}
      columns={[{ head: "Destination", cell: ({ destinationUrl }) => <Name>{destinationUrl}</Name> }, CREATED, CHANGED]}
    />
  );
}

function NewProxy() {
  return (
    <Screen title="New proxy">
      <Permitted operation={CREATE}>
        <ProxyEditor proxy={undefined} />
      </Permitted>
    </Screen>
  );
}

function ProxyDetails({ id }: { id: string }) {
  const { can, mayChange } = useSession();
  const proxy = useRead(ProxyService.method.getProxy, { id });
  return (
    <Screen
      title={proxy.data?.name ?? "Proxy"}
      actions={
        proxy.data && (
          <>
            <CallProxy proxy={proxy.data} />
            {mayChange(proxy.data.createdBy) && (
              <DeleteEntity method={ProxyService.method.deleteProxy} request={{ id }} kind="proxy" list="/proxies">
                Its key stops working at once.
              </DeleteEntity>
            )}
          </>
        )
      }
    >
      <Loaded read={proxy} lines={10}>
        {(found) => (
          <>
            <ProxyFacts proxy={found} />
            <ProxyEditor proxy={found} />
          </>
        )}
      </Loaded>
      {proxy.data && can("ProxyService/ListFailedProxyRuns") && mayChange(proxy.data.createdBy) && (
        <FailedRuns>
          <ProxyRuns id={id} />
        </FailedRuns>
      )}
    </Screen>
  );
}

function ProxyRuns({ id }: { readonly id: string }) {
  return <RunList runs={useRead(ProxyService.method.listFailedProxyRuns, { id })} />;
}
