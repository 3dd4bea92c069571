export function StatusTag({ status }: { status: string }) {
  const tone = /failed|declined/.test(status) ? "tag bad" : /succeeded/.test(status) ? "tag good" : "tag";
  return <span className={tone}>{status.replaceAll("_", " ")}</span>;
}
