import lethe

try:
    runs, version = lethe.read_value("examples/counter")
except lethe.LetheError as e:
    if e.code != "no_value":
        raise
    runs, version = 0, 0
lethe.write("examples/counter", runs + 1, expect=version)
lethe.result({"runs": runs + 1})
