// Package routes has a mux that lists its patterns, so that a test can compare the
// routes of the box office with those of its OpenAPI file: an http.ServeMux keeps its
// patterns to itself.
//
//	property                                    proven by
//	registered patterns are served and listed   TestMux
//	refused patterns are not listed             TestRefused
package routes
