import lethe

try:
    runs, version = lethe.read_value("examples/counter")
except lethe.LetheError as e:
    if e.code != "no_value":
        raise
    runs, version = 0, 0
with lethe.section("runs") as state:  # typed working state, gone with the region
    state.write(runs + 1)
    lethe.write("examples/counter", state.read(), expect=version)
lethe.result({"runs": runs + 1})
