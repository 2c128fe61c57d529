// Package catalogue reads a catalogue from one YAML file, checks it, and writes it to a server: cities, movies,
// theatres, screens and shows, with the fields of the HTTP API and an id each. Every complaint names file, line and
// path, the server's complaints included.
//
// It knows the API's names for things, and checks layouts and prices with the rules themselves (package fsm), so that
// what passes here is what the server takes. Load starts a few goroutines and waits for them.
package catalogue
