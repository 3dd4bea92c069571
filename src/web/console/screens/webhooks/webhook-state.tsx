export function WebhookState({ status }: { status: string }) {
  const isGood = status === "enabled" || status === "delivered";
  const isBad = status === "disabled" || status === "failed";
  return <span className={`pill ${isGood ? "good" : isBad ? "bad" : ""}`.trim()}>{status}</span>;
}
