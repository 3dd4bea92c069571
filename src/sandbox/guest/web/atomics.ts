type Numbers = { [index: number]: number | bigint; readonly length: number };

/**
 * The engine lacks `Atomics`. An instance has a single thread, in which every plain operation is atomic, so these are
 * plain reads and writes.
 */
export function createAtomics() {
  const update =
    (combine: (old: bigint, value: bigint) => bigint) => (array: Numbers, index: number, value: number | bigint) => {
      const old = load(array, index);
      const combined = combine(BigInt(old), BigInt(value));
      array[index] = typeof old === "bigint" ? BigInt.asIntN(64, combined) : Number(BigInt.asIntN(53, combined));
      return old;
    };
  const atomics = {
    add: update((old, value) => old + value),
    and: update((old, value) => old & value),
    compareExchange(array: Numbers, index: number, expected: number | bigint, value: number | bigint) {
      const old = load(array, index);
      if (old === expected) array[index] = value;
      return old;
    },
    exchange: update((_old, value) => value),
    isLockFree: (size: number) => [1, 2, 4, 8].includes(size),
    load,
    notify: () => 0,
    or: update((old, value) => old | value),
    store(array: Numbers, index: number, value: number | bigint) {
      load(array, index);
      array[index] = value;
      return value;
    },
    sub: update((old, value) => old - value),
    wait() {
      throw new TypeError("Atomics.wait cannot be called in this context");
    },
    xor: update((old, value) => old ^ value),
  };
  return Object.defineProperty(atomics, Symbol.toStringTag, { value: "Atomics", configurable: true });
}

function load(array: Numbers, index: number): number | bigint {
  const isWhole = ArrayBuffer.isView(array) && !(array instanceof Float32Array) && !(array instanceof Float64Array);
  if (!isWhole) throw new TypeError("[object Array] is not an integer typed array.");
  const value = array[index];
  if (value === undefined) throw new RangeError("Invalid atomic access index");
  return value;
}
