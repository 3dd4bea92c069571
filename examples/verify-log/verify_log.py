"""Verifies an export of a tenant's log without Cloakroom: python3 verify_log.py FILE FINGERPRINT

Written from "The format, byte by byte" in docs/audit-export.md. Exit code 0: good, 1: tampered with. Time stamps are not verified.
"""
import base64, calendar, hashlib, json, re, subprocess, sys, tempfile, time

COLUMNS = ("id actor_id actor_type entity_type entity_id operation message key_id source_ip client trace_id outcome code "
           "transform destination_host via_type via_id reason changes").split()
BODY = re.compile(r"cloakroom/audit-seal/1 tenant (\S+) number (\d+) kind (minute|set_back|restart) window (\S+) rows (\d+) "
                  r"digest ([0-9a-f]*) mac ([0-9a-f]{64}) after ([0-9a-f]{64}) previous (\d+) ([0-9a-f]{64}) signed (\S+) key (\S+)")

def sha(data): return hashlib.sha256(data).digest()
def need(holds, reason): holds or sys.exit(f"tampered: {reason}")
def dump(line): return json.dumps(line, ensure_ascii=False, separators=(",", ":"))

def leaf(tenant, row):
    at = row["created_at"]
    micros = calendar.timegm(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")) * 10**6 + int(at[20:26])
    cells = [str(micros)] + [row[name] for name in COLUMNS]
    parts = ["cloakroom/log-row/1", tenant] + ["1" + cell if isinstance(cell, str) else "0" for cell in cells]
    return sha(b"\0" + b"".join(len(part).to_bytes(4, "big") + part for part in map(str.encode, parts)))

def root(leaves):
    if len(leaves) < 2: return leaves[0] if leaves else sha(b"")
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\1" + root(leaves[:split]) + root(leaves[split:]))

def is_signed(spki, text, signature):
    with tempfile.TemporaryDirectory() as folder:
        key, data, sig = (f"{folder}/{name}" for name in ("key", "data", "sig"))
        for name, content in ((key, spki), (data, text), (sig, signature)): open(name, "wb").write(content)
        asked = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin", "-in", data, "-sigfile", sig]
        return subprocess.run(asked, capture_output=True).returncode == 0

def verify(lines, fingerprint):
    head = json.loads(lines[0])
    spki, tenant = base64.b64decode(head["public_key"]), head["tenant_id"]
    need(head["format"] == "cloakroom-audit-export/1", "unknown format")
    need(sha(spki).hex() == head["key"] == fingerprint, "another key")
    rows, leaves, last, entries, number = [], [], None, 0, head["first"]
    for text in lines[1:-1]:
        line = json.loads(text)
        need(dump(line) == text, "a line is not as the vault writes it")
        if line["kind"] == "row":
            order = (line["created_at"], line["id"])
            need(line["tenant_id"] == tenant and (not rows or rows[-1] < order), "rows of another log, or not in their order")
            rows.append(order); leaves.append(leaf(tenant, line))
        elif line["kind"] != "stamp":
            signature, found = base64.b64decode(line["signature"]), BODY.fullmatch(line["body"])
            need(found and is_signed(spki, line["body"].encode(), signature), f"entry {number} is not signed")
            of, no, kind, window, count, digest, mac, after, before, hashed, _, key = found.groups()
            need((of, int(no), key) == (tenant, number, head["key"]), f"entry {number} is not in its place")
            need(last is None or (after, int(before), hashed) == last, f"entry {number} does not continue entry {number - 1}")
            need(line["kind"] != "link" or not rows, "rows without a seal")
            covered = kind == "minute" and head["since"] <= window < head["until"] and window >= (head["kept_from"] or "")
            need(covered == (line["kind"] == "seal"), f"the rows of entry {number} are left out")
            need(last or not covered or number == 1, "entries before the range are left out")
            if covered:
                need(len(rows) == int(count) and root(leaves).hex() == digest, f"the rows of {window} were changed")
                need(all(at[:16] == window[:16] for at, _ in rows), f"the rows of {window} are of another minute")
            entries, number, last = entries + 1, number + 1, (mac, int(no), sha(line["body"].encode()).hex())
            end_inside, rows, leaves = covered, [], []
    need(not rows and number == head["last"] + 1, "the end of the chain is left out")
    need(entries == 0 and head["head"] == 0 or entries > 0 and not (end_inside and head["last"] < head["head"]), "entries are left out")
    return head, spki, entries

def main(path, fingerprint):
    data = open(path, "rb").read()
    lines = data.decode().split("\n")
    need(lines.pop() == "" and len(lines) > 1, "the file is cut off")
    head, spki, entries = verify(lines, fingerprint)
    end, count = json.loads(lines[-1]), sum(line.startswith('{"kind":"row"') for line in lines)
    hashed = sha(data[:len(data) - len(lines[-1].encode()) - 1]).hex()
    text = (f"cloakroom/audit-export/1\ntenant {head['tenant_id']}\nrows {count}\nentries {entries}\n"
            f"sealed_until {end['sealed_until'] or 'unknown'}\nsha256 {hashed}\nkey {head['key']}\n")
    need(dump(end) == lines[-1] and (end["rows"], end["entries"], end["sha256"]) == (count, entries, hashed), "the last line")
    need(is_signed(spki, text.encode(), base64.b64decode(end["signature"])), "the last line is not signed")
    print(f"good: {count} rows, {entries} entries, complete until {end['sealed_until'] or 'unknown'}")

main(*sys.argv[1:])
