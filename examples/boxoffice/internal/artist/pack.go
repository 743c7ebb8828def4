package artist

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// maxContent bounds the unpacked size of a stored extract.
const maxContent = 8 << 20

// packers are reused: a new one allocates some hundred kilobytes.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}}

// pack is the stored form of content.
func pack(content []byte) ([]byte, error) {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("artist: pack: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("artist: pack: %w", err)
	}
	return b.Bytes(), nil
}

// unpack returns the content of a stored extract; hash is the content's expected
// hash.
func unpack(packed []byte, hash string) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("artist: unpack: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(r, maxContent))
	if err != nil {
		return nil, fmt.Errorf("artist: unpack: %w", err)
	}
	if hashOf(content) != hash {
		return nil, fmt.Errorf("artist: the stored extract is damaged: its hash is not %s", hash)
	}
	return content, nil
}
