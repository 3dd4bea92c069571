import { useLocation } from "wouter";
import { ReactorService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";

export function DeleteReactor({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const { isAllowed, run, ...change } = useChange(ReactorService.method.deleteReactor);
  if (!isAllowed) return null;
  return (
    <Confirm
      {...change}
      action="Delete"
      title="Delete this reactor?"
      onConfirm={() => run({ id }, () => navigate("/reactors"))}
    >
      <p>Calls of it fail from now on.</p>
    </Confirm>
  );
}
