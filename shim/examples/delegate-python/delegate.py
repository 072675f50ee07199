import lethe

ended = lethe.run("count-python")
if ended["outcome"] != "exited" or ended["exit_code"] != 0:
    raise SystemExit("count-python ended otherwise: %s" % ended)
lethe.result(ended["result"])
