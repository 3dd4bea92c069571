/**
 * Ports from 1024 on that are unlikely to be web servers and where a line of HTTP could do harm. First the blocked
 * ports of the Fetch standard (https://fetch.spec.whatwg.org/#port-blocking), then data stores, queues and the control
 * ports of container hosts.
 */
const closedPorts: ReadonlySet<number> = new Set([
  1719,
  1720,
  1723,
  2049,
  3659,
  4045,
  4190,
  5060,
  5061,
  6000,
  6566,
  6665,
  6666,
  6667,
  6668,
  6669,
  6679,
  6697,
  10080,
  1433, // SQL Server
  1521, // Oracle
  2181, // ZooKeeper
  2375, // Docker, plain
  2376, // Docker, TLS
  2379, // etcd clients
  2380, // etcd peers
  3306, // MySQL
  3389, // remote desktop
  5432, // PostgreSQL
  5672, // AMQP
  5900, // VNC
  6379, // Redis
  9042, // Cassandra
  9092, // Kafka
  10250, // kubelet
  11211, // memcached
  26257, // CockroachDB
  27017, // MongoDB
]);

/**
 * Ports that tenants may use without an allow entry: 443, 80 and 1024 to 65535 except the closed ones. Below 1024
 * nearly every other number belongs to a protocol other than HTTP (mail, shells, directories).
 */
export function isWebPort(port: number): boolean {
  if (port === 443 || port === 80) return true;
  return Number.isInteger(port) && port >= 1024 && port <= 65_535 && !closedPorts.has(port);
}
