// Package routes has a mux that can be asked what it serves, so that a test can
// compare the routes of the box office with those of its OpenAPI file: an
// http.ServeMux keeps its patterns to itself.
//
//	property                                    proven by
//	what is registered is served and listed     TestMux
//	what is refused is not listed               TestRefused
package routes
