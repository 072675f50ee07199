"use strict";
const lethe = require("lethe");

let counter = { value: 0, version: 0 };
try {
        counter = lethe.readValue("examples/counter");
} catch (e) {
        if (e.code !== "no_value")
                throw e;
}
lethe.write("examples/counter", counter.value + 1, counter.version);
lethe.result({ runs: counter.value + 1 });
