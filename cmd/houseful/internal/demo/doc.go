// Package demo is a catalogue to play with: two cities, three theatres, six screens, six movies and a week of shows
// that is always the week ahead. It writes them over HTTP as "houseful load" would, and leaves alone what is already
// there, so that a restart changes nothing but adds the days that have come nearer.
//
// Refresh starts no goroutine; Run works on the caller's until it is told to stop.
package demo
