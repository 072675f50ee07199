// The texts that ECMAScript gives to doubles: bits and text, a line each. I-83: the canonical form (RFC 8785) gives the same.
// All 2,098 powers of two with the doubles beside them, powers of ten, the numbers of RFC 8785 appendix B, and bits of a generator with a fixed seed.
"use strict";
const view = new DataView(new ArrayBuffer(8));
const lines = [];

function say(bits) {
  view.setBigUint64(0, BigInt.asUintN(64, bits));
  const d = view.getFloat64(0);
  if (Number.isFinite(d))
    lines.push(view.getBigUint64(0).toString(16) + " " + String(d));
}

function bitsOf(d) {
  view.setFloat64(0, d);
  return view.getBigUint64(0);
}

let powers = 0;
for (let e = -1074; e < 1024; e++, powers++) {
  const bits = bitsOf(Math.pow(2, e));
  for (const sign of [0n, 1n << 63n])
    for (const by of [-1n, 0n, 1n])
      say((bits + by) | sign);
}
if (powers !== 2098)
  throw new Error(powers + " powers of two");
for (let e = -324; e < 309; e++)
  for (let digit = 1; digit < 10; digit++)
    say(bitsOf(Number(digit + "e" + e)));
for (const text of [
  "0000000000000000", "8000000000000000", "0000000000000001", "8000000000000001", "7fefffffffffffff", "ffefffffffffffff", "4340000000000000",
  "c340000000000000", "4430000000000000", "44b52d02c7e14af5", "44b52d02c7e14af6", "44b52d02c7e14af7", "444b1ae4d6e2ef4e", "444b1ae4d6e2ef4f",
  "444b1ae4d6e2ef50", "3eb0c6f7a0b5ed8c", "3eb0c6f7a0b5ed8d", "41b3de4355555553", "41b3de4355555554", "41b3de4355555555", "41b3de4355555556",
  "41b3de4355555557", "becbf647612f3696", "43143ff3c1cb0959",
])
  say(BigInt("0x" + text));
// splitmix64
let state = 0x4c65746865n;
for (let i = 0; i < 40000; i++) {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  let z = state;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  say(z ^ (z >> 31n));
}
process.stdout.write(lines.join("\n") + "\n");
