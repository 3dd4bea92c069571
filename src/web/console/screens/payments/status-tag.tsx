export function StatusTag({ status }: { status: string }) {
  const tone = /failed|declined/.test(status) ? "pill bad" : /succeeded/.test(status) ? "pill good" : "pill";
  return <span className={tone}>{status.replaceAll("_", " ")}</span>;
}
