// Package s3fake is an object store in memory that speaks as much of Amazon's S3 as
// the archive needs, for tests. It checks signatures by its own arithmetic, keeps
// exactly the objects that it has confirmed, and fails on request.
package s3fake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is an http.Handler. The zero value has no bucket.
type Server struct {
	Bucket, Region, Key, Secret string
	// Trouble is called before a request is carried out; nil, or a result of false,
	// means no trouble. It may answer by itself.
	Trouble func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	objects  map[string][]byte
	requests int
}

// Objects are the names of the stored objects.
func (s *Server) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for name := range s.objects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Requests is how many came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Set changes the trouble while requests arrive.
func (s *Server) Set(trouble func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Trouble = trouble
}

// Refuse answers with an error of S3.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	trouble := s.Trouble
	s.mu.Unlock()
	if trouble != nil && trouble(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		Refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if status, code := s.check(r, body); code != "" {
		Refuse(w, status, code)
		return
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != s.Bucket {
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, there := s.objects[name]
	switch r.Method {
	case http.MethodPut:
		s.put(name, body)
	case http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		if !there {
			Refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		_, _ = w.Write(data)
	default:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// check verifies the signature by "Authenticating Requests: Using the Authorization
// Header (AWS Signature Version 4)" in Amazon's S3 API Reference.
func (s *Server) check(r *http.Request, body []byte) (status int, code string) {
	fields := map[string]string{}
	kind, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	at := r.Header.Get("X-Amz-Date")
	moment, err := time.Parse("20060102T150405Z", at)
	if kind != "AWS4-HMAC-SHA256" || err != nil {
		return http.StatusForbidden, "AccessDenied"
	}
	if age := time.Since(moment); age > 15*time.Minute || age < -15*time.Minute {
		return http.StatusForbidden, "RequestTimeTooSkewed"
	}
	scope := strings.Join([]string{at[:8], s.Region, "s3", "aws4_request"}, "/")
	key, given, _ := strings.Cut(fields["Credential"], "/")
	switch {
	case key != s.Key:
		return http.StatusForbidden, "InvalidAccessKeyId"
	case given != scope:
		return http.StatusBadRequest, "AuthorizationHeaderMalformed"
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	if !slices.IsSorted(names) || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-content-sha256") || !slices.Contains(names, "x-amz-date") {
		return http.StatusForbidden, "AccessDenied"
	}
	var headers strings.Builder
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	hash := r.Header.Get("X-Amz-Content-Sha256")
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.Query().Encode(), headers.String(), fields["SignedHeaders"], hash}, "\n")
	sign := []byte("AWS4" + s.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		sign = mac(sign, part)
	}
	want := hex.EncodeToString(mac(sign, strings.Join([]string{kind, at, scope, sum([]byte(canonical))}, "\n")))
	switch {
	case !hmac.Equal([]byte(want), []byte(fields["Signature"])):
		return http.StatusForbidden, "SignatureDoesNotMatch"
	case hash != sum(body):
		return http.StatusBadRequest, "XAmzContentSHA256Mismatch"
	}
	return 0, ""
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) //nolint:errcheck // a hash takes everything
	return h.Sum(nil)
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// Keep stores the body of a request, like a server that stores it and then loses the
// answer.
func (s *Server) Keep(r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, data)
}

func (s *Server) put(name string, data []byte) {
	if s.objects == nil {
		s.objects = map[string][]byte{}
	}
	s.objects[name] = data
}
