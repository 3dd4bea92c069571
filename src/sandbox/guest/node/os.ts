import { os } from "guest:node-constants";

/** `require("os")`: a machine without a name, neighbours or users. */
export function createOsModule() {
  return {
    EOL: "\n",
    devNull: "/dev/null",
    constants: os,
    arch: () => "x64",
    cpus: () => [],
    endianness: () => "LE",
    freemem: () => 0,
    getPriority: () => 0,
    homedir: () => "/",
    hostname: () => "localhost",
    loadavg: () => [0, 0, 0],
    machine: () => "x86_64",
    networkInterfaces: () => ({}),
    platform: () => "linux",
    release: () => "",
    tmpdir: () => "/tmp",
    totalmem: () => 0,
    type: () => "Linux",
    uptime: () => performance.now() / 1_000,
    userInfo: () => ({ uid: 65_534, gid: 65_534, username: "nobody", homedir: "/", shell: null }),
    version: () => "",
  };
}
