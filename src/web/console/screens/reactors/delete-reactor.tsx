import { ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { useLeaveTo } from "../../use-leave-to.js";

export function DeleteReactor({ id }: { id: string }) {
  const leaveTo = useLeaveTo();
  const { isAllowed, run, ...change } = useChange(ReactorService.method.deleteReactor);
  if (!isAllowed) return null;
  const onDeleted = () => leaveTo("/reactors");
  return (
    <Confirm {...change} action="Delete" title="Delete this reactor?" onConfirm={() => run({ id }, onDeleted)}>
      <p>Calls of it fail from now on.</p>
    </Confirm>
  );
}
