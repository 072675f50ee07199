"use strict";
const lethe = require("lethe");

let counter = { value: 0, version: 0 };
try {
        counter = lethe.readValue("examples/counter");
} catch (e) {
        if (e.code !== "no_value")
                throw e;
}
const state = lethe.section("runs"); // typed working state, gone with the region
state.write(counter.value + 1);
lethe.write("examples/counter", state.read(), counter.version);
lethe.result({ runs: counter.value + 1 });
