// The page's data: arrays that `report/exploring/packing.py` packed, as typed arrays.

async function inflated(content) {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpacked(packed) {
  const kinds = { f8: [Float64Array, 8], i4: [Int32Array, 4], i2: [Int16Array, 2], u1: [Uint8Array, 1] };
  const bytes = await inflated(packed.content), arrays = {};
  let start = 0;
  for (const [name, kind, length] of packed.arrays) {
    const [Kind, size] = kinds[kind], own = new Uint8Array(length * size);
    // The first byte of every number comes before the second of any.
    for (let byte = 0; byte < size; byte++) {
      for (let place = 0; place < length; place++) own[place * size + byte] = bytes[start + byte * length + place];
    }
    arrays[name] = new Kind(own.buffer);
    start += length * size;
  }
  return arrays;
}

async function unpackedRows(content) {
  return JSON.parse(new TextDecoder().decode(await inflated(content)));
}

async function readStudy(data) {
  const arrays = await unpacked(data.packed);
  const { steps } = await unpacked(data.curves.packed), trials = arrays.score.length;
  // Each bin of a learning curve is packed as the difference from the one before, modulo 256.
  for (let at = trials; at < steps.length; at++) steps[at] = (steps[at] + steps[at - trials]) & 255;
  const filled = arrays.score.map((score, at) =>
    (Number.isNaN(score) ? data.worst[arrays.task[Math.floor(at / data.arms.length)]] : score));
  return {
    ...data, ...arrays,
    filled,
    steps,
    units: arrays.configuration.length,
    width: data.arms.length,
    sign: data.lower_is_better ? -1 : 1,
    numberOf: (configuration) => (data.numbers.length ? data.numbers[configuration] : configuration),
    valueOf: (axis, unit) => arrays["axis" + axis][arrays.configuration[unit]],
  };
}
