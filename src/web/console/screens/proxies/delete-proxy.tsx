import { ProxyService } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { useChange } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { useLeaveTo } from "../../use-leave-to.js";

export function DeleteProxy({ id }: { id: string }) {
  const leaveTo = useLeaveTo();
  const { isAllowed, run, ...change } = useChange(ProxyService.method.deleteProxy);
  if (!isAllowed) return null;
  const onDeleted = () => leaveTo("/proxies");
  return (
    <Confirm {...change} action="Delete" title="Delete this proxy?" onConfirm={() => run({ id }, onDeleted)}>
      <p>Its key stops working at once.</p>
    </Confirm>
  );
}
