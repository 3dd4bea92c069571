import { Gauge, type Registry } from "prom-client";

type Labels = Partial<Record<string, string | number>>;

/**
 * Exports a registered metric under its former name too. Former names are removed in the next release.
 * @param labelsOf gives the former labels. Absent: they have not changed.
 */
export function keepFormerName(
  registry: Registry,
  former: string,
  present: string,
  labelsOf: (labels: Labels) => Labels = (labels) => labels,
): void {
  registry.registerMetric(new FormerMetric(registry, former, present, labelsOf));
}

/** Reads another metric. It extends Gauge because the registry only calls `get`. */
class FormerMetric extends Gauge<string> {
  readonly #read: () => ReturnType<Gauge<string>["get"]>;

  constructor(registry: Registry, former: string, present: string, labelsOf: (labels: Labels) => Labels) {
    const help = `Deprecated, removed in the next release: use ${present}.`;
    super({ name: former, help, registers: [] });
    this.#read = async () => {
      const metric = await registry.getSingleMetric(present)?.get();
      if (!metric) throw new Error(`the metric ${present} is not registered`);
      const values = metric.values.map((value) => ({
        ...value,
        labels: labelsOf(value.labels),
        ...("metricName" in value && typeof value.metricName === "string"
          ? { metricName: value.metricName.replace(present, former) }
          : {}),
      }));
      return { ...metric, name: former, help, values };
    };
  }

  override get() {
    return this.#read();
  }
}
