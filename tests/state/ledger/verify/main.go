// Runs: tests. Verifies an export of a ledger with golang.org/x/mod's note and tlog packages, which know nothing of Lethe.
//
//	verify DIR             the whole export: signature, root over the entries, every tile
//	verify flip DIR N      also that N single-bit flips, spread over all files, are each caught; N 0: one in every byte
//	verify proof FILE ENTRY VKEY   a proof file of the entry in file ENTRY
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// An export in memory: path below its folder to bytes.
type export map[string][]byte

func load(dir string) (export, error) {
	e := export{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		e[rel], err = os.ReadFile(p)
		return err
	})
	return e, err
}

// The verifier for a vkey file. Go reads keys more freely than they are written, so the text must be the only way to write that key.
func verifier(vkey []byte) (note.Verifier, error) {
	text := string(vkey)
	if !strings.HasSuffix(text, "\n") {
		return nil, errors.New("vkey: no newline at its end")
	}
	text = text[:len(text)-1]
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(text, fmt.Sprintf("%s+%08x+", v.Name(), v.KeyHash())) {
		return nil, errors.New("vkey: not in its canonical spelling")
	}
	return v, nil
}

func checkpoint(text []byte, v note.Verifier) (tlog.Tree, error) {
	var t tlog.Tree
	n, err := note.Open(text, note.VerifierList(v))
	if err != nil {
		return t, err
	}
	for _, s := range n.Sigs {
		if raw, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil || base64.StdEncoding.EncodeToString(raw) != s.Base64 {
			return t, errors.New("checkpoint: the signature has bits that nobody reads")
		}
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != v.Name() {
		return t, errors.New("checkpoint: not three lines")
	}
	if t.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return t, err
	}
	t.Hash, err = tlog.ParseHash(lines[2])
	return t, err
}

func tilePath(level int, n int64, w int) string {
	s := fmt.Sprintf("%03d", n%1000)
	for n >= 1000 {
		n /= 1000
		s = fmt.Sprintf("x%03d/%s", n%1000, s)
	}
	name := "entries"
	if level >= 0 {
		name = strconv.Itoa(level)
	}
	if w < 256 {
		s += fmt.Sprintf(".p/%d", w)
	}
	return "tile/" + name + "/" + s
}

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range indexes {
		if i >= int64(len(h)) {
			return nil, errors.New("hash beyond the tree")
		}
		out = append(out, h[i])
	}
	return out, nil
}

func (e export) verify() (int64, error) {
	seen := map[string]bool{"vkey": true, "checkpoint": true}
	v, err := verifier(e["vkey"])
	if err != nil {
		return 0, err
	}
	tree, err := checkpoint(e["checkpoint"], v)
	if err != nil {
		return 0, err
	}
	var stored hashes
	for n := int64(0); n < tree.N; {
		w := 256
		if tree.N-n < 256 {
			w = int(tree.N - n)
		}
		path := tilePath(-1, n/256, w)
		data := e[path]
		seen[path] = true
		for i := 0; i < w; i++ {
			if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
				return 0, fmt.Errorf("%s: ends within an entry", path)
			}
			size := int(binary.BigEndian.Uint16(data))
			hs, err := tlog.StoredHashes(n, data[2:2+size], stored)
			if err != nil {
				return 0, err
			}
			stored = append(stored, hs...)
			data = data[2+size:]
			n++
		}
		if len(data) != 0 {
			return 0, fmt.Errorf("%s: bytes behind its last entry", path)
		}
	}
	root, err := tlog.TreeHash(tree.N, stored)
	if err != nil {
		return 0, err
	}
	if root != tree.Hash {
		return 0, fmt.Errorf("the entries have root %v, the checkpoint says %v", root, tree.Hash)
	}
	// NewTiles lists a tile at each width that it ever had; the widest is the one that an export has.
	widest := map[[2]int64]tlog.Tile{}
	for _, t := range tlog.NewTiles(8, 0, tree.N) {
		if at := [2]int64{int64(t.L), t.N}; widest[at].W < t.W {
			widest[at] = t
		}
	}
	for _, t := range widest {
		path := tilePath(t.L, t.N, t.W)
		want, err := tlog.ReadTileData(t, stored)
		if err != nil {
			return 0, err
		}
		seen[path] = true
		if !bytes.Equal(want, e[path]) {
			return 0, fmt.Errorf("%s: its hashes are not those of the entries", path)
		}
	}
	for path := range e {
		if !seen[path] {
			return 0, fmt.Errorf("%s: not a file of this tree", path)
		}
	}
	return tree.N, nil
}

func (e export) flips(n int) (int, error) {
	var paths []string
	total := 0
	for p := range e {
		paths = append(paths, p)
		total += len(e[p])
	}
	sort.Strings(paths)
	rng := rand.New(rand.NewSource(1))
	tried := 0
	for _, p := range paths {
		for i := range e[p] {
			// All of the small files; of the others a share.
			if n > 0 && len(e[p]) > 512 && rng.Intn(total) >= n {
				continue
			}
			bit := byte(1) << uint(rng.Intn(8))
			e[p][i] ^= bit
			_, err := e.verify()
			e[p][i] ^= bit
			tried++
			if err == nil {
				return tried, fmt.Errorf("%s: a flip of bit %#x of byte %d is not caught", p, bit, i)
			}
		}
	}
	return tried, nil
}

func proof(file, entryFile, vkeyFile string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	entry, err := os.ReadFile(entryFile)
	if err != nil {
		return err
	}
	vkey, err := os.ReadFile(vkeyFile)
	if err != nil {
		return err
	}
	v, err := verifier(vkey)
	if err != nil {
		return err
	}
	head, cp, ok := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" || !strings.HasPrefix(lines[1], "index ") {
		return errors.New("not a proof file")
	}
	tree, err := checkpoint([]byte(cp), v)
	if err != nil {
		return err
	}
	index, err := strconv.ParseInt(lines[1][len("index "):], 10, 64)
	if err != nil {
		return err
	}
	var path tlog.RecordProof
	for _, l := range lines[2:] {
		h, err := tlog.ParseHash(l)
		if err != nil {
			return err
		}
		path = append(path, h)
	}
	return tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash(entry))
}

func run(args []string) error {
	switch {
	case len(args) == 1:
		e, err := load(args[0])
		if err != nil {
			return err
		}
		n, err := e.verify()
		if err == nil {
			fmt.Printf("%d entries verified\n", n)
		}
		return err
	case len(args) == 3 && args[0] == "flip":
		e, err := load(args[1])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		if _, err = e.verify(); err != nil {
			return err
		}
		tried, err := e.flips(n)
		if err == nil {
			fmt.Printf("%d flips caught\n", tried)
		}
		return err
	case len(args) == 4 && args[0] == "proof":
		return proof(args[1], args[2], args[3])
	}
	return errors.New("usage: verify DIR | verify flip DIR N | verify proof FILE ENTRY VKEY")
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}
