// Checks an export of a Lethe ledger with code that is not Lethe's: the transparency-log packages of the Go project
// (golang.org/x/mod, sumdb/note and sumdb/tlog), which Debian ships as golang-golang-x-mod-dev.
//
//	verify DIR                     the whole export: signature, every tile, every entry
//	verify DIR --print-text FILE   also writes the signed text of the checkpoint to FILE
//	verify DIR --proof PROOF       a tlog-proof file, for the entry that it names, against the export's key
//
// Ends 0 when everything holds, 1 with the first thing that does not, 2 for a wrong command line.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

func fail(format string, args ...interface{}) {
	fmt.Printf("NOT INTACT: "+format+"\n", args...)
	os.Exit(1)
}

func read(dir, name string) []byte {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		fail("%v", err)
	}
	return data
}

// The checkpoint's text is three lines: origin, number of entries, root hash.
func openCheckpoint(vkey string, msg []byte) (tlog.Tree, string, string) {
	verifier, err := note.NewVerifier(strings.TrimSpace(vkey))
	if err != nil {
		fail("vkey: %v", err)
	}
	n, err := note.Open(msg, note.VerifierList(verifier))
	if err != nil {
		fail("checkpoint: %v", err)
	}
	lines := strings.SplitN(n.Text, "\n", 4)
	if len(lines) < 4 {
		fail("checkpoint: the signed text has too few lines")
	}
	if lines[0] != verifier.Name() {
		fail("checkpoint: origin %q is not the key's name %q", lines[0], verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		fail("checkpoint: bad size %q", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		fail("checkpoint: bad root: %v", err)
	}
	return tlog.Tree{N: size, Hash: root}, lines[0], n.Text
}

// tileDir reads tiles as C2SP tlog-tiles names them: the packages' own names less the height.
type tileDir struct {
	dir  string
	used map[string]bool
}

func (t tileDir) name(tile tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(tile.Path(), "tile/"+strconv.Itoa(tileHeight)+"/")
}

func (t tileDir) Height() int { return tileHeight }

func (t tileDir) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, tile := range tiles {
		data, err := os.ReadFile(filepath.Join(t.dir, t.name(tile)))
		if err != nil {
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s: %d bytes, not %d", t.name(tile), len(data), tile.W*tlog.HashSize)
		}
		t.used[t.name(tile)] = true
		out = append(out, data)
	}
	return out, nil
}

func (t tileDir) SaveTiles([]tlog.Tile, [][]byte) {}

// entries reads one bundle: each entry has its length before it, as two bytes, big-endian.
func entries(dir string, bundle int64, width int) ([][]byte, string) {
	name := "tile/entries/" + strings.TrimPrefix(tlog.Tile{H: tileHeight, L: 0, N: bundle, W: width}.Path(), "tile/8/0/")
	data := read(dir, name)
	var out [][]byte
	for len(data) > 0 {
		if len(data) < 2 {
			fail("%s: half a length", name)
		}
		n := int(binary.BigEndian.Uint16(data))
		if len(data)-2 < n {
			fail("%s: half an entry", name)
		}
		out = append(out, data[2:2+n])
		data = data[2+n:]
	}
	if len(out) != width {
		fail("%s: %d entries, not %d", name, len(out), width)
	}
	return out, name
}

func verifyExport(dir string) string {
	tree, origin, text := openCheckpoint(string(read(dir, "vkey")), read(dir, "checkpoint"))
	files := tileDir{dir, map[string]bool{}}
	hashes := tlog.TileHashReader(tree, files)

	for first := int64(0); first < tree.N; first += 1 << tileHeight {
		width := 1 << tileHeight
		if tree.N-first < int64(width) {
			width = int(tree.N - first)
		}
		bundle, name := entries(dir, first>>tileHeight, width)
		files.used[name] = true
		index := make([]int64, width)
		for i := range index {
			index[i] = tlog.StoredHashIndex(0, first+int64(i))
		}
		leaves, err := hashes.ReadHashes(index)
		if err != nil {
			fail("tiles: %v", err)
		}
		for i, entry := range bundle {
			if tlog.RecordHash(entry) != leaves[i] {
				fail("entry %d is not the one that was recorded", first+int64(i))
			}
		}
	}
	if tree.N > 0 {
		root, err := tlog.TreeHash(tree.N, hashes)
		if err != nil {
			fail("tree: %v", err)
		}
		if root != tree.Hash {
			fail("the tree's root is not the signed one")
		}
	}

	// A file that no check has read could say anything.
	err := filepath.Walk(filepath.Join(dir, "tile"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !files.used[rel] {
			fail("%s does not belong to a tree of %d entries", rel, tree.N)
		}
		return nil
	})
	if err != nil && tree.N > 0 {
		fail("%v", err)
	}
	fmt.Printf("origin  %s\nentries %d\nroot    %s\nintact: the signature, %d files of tiles and every entry agree\n",
		origin, tree.N, tree.Hash, len(files.used))
	return text
}

// verifyProof checks that the export's log, whose key dir/vkey is, holds the entry.
func verifyProof(dir, proofFile string) {
	data, err := os.ReadFile(proofFile)
	if err != nil {
		fail("%v", err)
	}
	cut := bytes.Index(data, []byte("\n\n"))
	if cut < 0 {
		fail("proof: no checkpoint in it")
	}
	tree, _, _ := openCheckpoint(string(read(dir, "vkey")), data[cut+2:])
	lines := strings.Split(string(data[:cut]), "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		fail("proof: unknown first line %q", lines[0])
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		fail("proof: no index line")
	}
	seq, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil || seq < 0 || seq >= tree.N {
		fail("proof: bad index")
	}
	var proof tlog.RecordProof
	for _, line := range lines[1:] {
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != tlog.HashSize {
			fail("proof: bad hash %q", line)
		}
		var h tlog.Hash
		copy(h[:], raw)
		proof = append(proof, h)
	}
	bundle := seq >> tileHeight
	full, _, _ := openCheckpoint(string(read(dir, "vkey")), read(dir, "checkpoint"))
	width := int64(1) << tileHeight
	if full.N-bundle<<tileHeight < width {
		width = full.N - bundle<<tileHeight
	}
	if seq >= full.N {
		fail("the export ends before entry %d", seq)
	}
	all, _ := entries(dir, bundle, int(width))
	entry := all[seq&(1<<tileHeight-1)]
	if err := tlog.CheckRecord(proof, tree.N, tree.Hash, seq, tlog.RecordHash(entry)); err != nil {
		fail("proof of entry %d: %v", seq, err)
	}
	fmt.Printf("entry %d is in the log of %d entries\n", seq, tree.N)
}

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 1 && !strings.HasPrefix(args[0], "-"):
		verifyExport(args[0])
	case len(args) == 3 && args[1] == "--print-text":
		if err := os.WriteFile(args[2], []byte(verifyExport(args[0])), 0o600); err != nil {
			fail("%v", err)
		}
	case len(args) == 3 && args[1] == "--proof":
		verifyProof(args[0], args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: verify DIR [--print-text FILE | --proof PROOF]")
		os.Exit(2)
	}
}
