#!/usr/bin/python3
"""taubench.py FILE: transcripts of tau-bench (tests/data/taubench) as dialogues for build/tests/eval/drift, on standard output.

The transcripts have no annotation of the user's state. The state is made of the gold actions: each argument of a gold action that the user says in so
many words is a slot from the user's turn on that says it first: "reservation_id", "user_id", "cabin", "date", "flight_number", "payment_id" and so on.
Several values of one argument are slots with a number. The arguments of the agent's own calls are acts of the agent's turn: values that the talk
mentions. Outputs of tools are tools of the turn. A value never changes in the gold actions, so that D counts omissions alone.
"""
import json
import re
import sys

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
SKIPPED = {"insurance", "summary", "expression", "thought", "dob", "amount", "nonfree_baggages"}  # said as yes or no, or computed by the agent
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def leaves(key, value):
    """The arguments of an action: (name, text) pairs without repetition of structure."""
    if isinstance(value, dict):
        if set(value) >= {"first_name", "last_name"}:
            yield "passenger", "%s %s" % (value["first_name"], value["last_name"])
        else:
            for k, v in value.items():
                yield from leaves(k, v)
    elif isinstance(value, list):
        for v in value:
            yield from leaves(key, v)
    elif key not in SKIPPED and not isinstance(value, bool) and value is not None:
        yield key, str(value)


def forms(key, value):
    """Surface forms by which people say the value."""
    found = [value, value.replace("_", " ")]
    date = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value)
    if date:
        month, day = MONTHS[int(date[2]) - 1], int(date[3])
        end = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        found += ["%s %d" % (month, day), "%s %d%s" % (month, day, end), "%d %s" % (day, month)]
    if key == "total_baggages" and value.isdigit():
        number = WORDS.get(int(value), value)
        found = ["%s %s" % (n, thing) for n in (value, number) for thing in ("checked bags", "checked bag", "bags", "bag", "suitcases", "suitcase", "baggages", "pieces of luggage")]
    card = re.fullmatch(r"(?:credit_card|gift_card|certificate)_(\d+)", value)
    if card:
        found += [card[1], "ending in " + card[1][-4:]]
    return list(dict.fromkeys(found))


def norm(text):
    return " %s " % " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def convert(number, record):
    slots, turns, state, seen = {}, [], {}, {}
    for action in record["gold_actions"]:
        for key, value in leaves("", action["kwargs"]):
            if (key, value) not in seen:
                seen[key, value] = key if key not in slots else "%s_%d" % (key, 1 + sum(k == key for k, _ in seen))
                slots[seen[key, value]] = forms(key, value)
    for message in record["traj"]:
        text = (message.get("text") or "").replace("###STOP###", "").strip()
        if message["role"] == "user":
            if not text:
                continue
            for slot, found in slots.items():
                said = [f for f in found if norm(f) in norm(text)]
                if said and slot not in state:
                    state[slot] = found
            turns.append({"who": "U", "text": text, "acts": [], "state": {"Airline": {"intent": "help", "ask": [], "slots": dict(state)}}})
            continue
        if not turns:
            continue
        if turns[-1]["who"] == "U":
            turns.append({"who": "S", "text": "", "acts": [], "tools": []})
        turn = turns[-1]
        if message["role"] == "tool":
            if text:
                turn["tools"].append({"name": message.get("tool") or "tool", "text": text})
        elif text:
            turn["text"] = (turn["text"] + "\n" + text).strip()
        for call in message.get("call") or []:
            try:
                arguments = json.loads(call["args"])
            except ValueError:
                continue
            turn["acts"] += [["CALL Airline.%s" % key, value] for key, value in leaves("", arguments)]
    for turn in turns:
        turn["text"] = turn["text"] or "One moment, please."
    return {"id": "taubench-%d" % number, "domain": "airline", "services": ["Airline"], "turns": turns} if state else None


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if "--help" in sys.argv else 2
    with open(sys.argv[1], encoding="utf-8") as f:
        for number, line in enumerate(f):
            dialogue = convert(number, json.loads(line))
            if dialogue:
                print(json.dumps(dialogue))
    return 0


if __name__ == "__main__":
    sys.exit(main())
