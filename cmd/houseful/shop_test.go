package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// shop is where buyers find the server, whose address changes with every start.
type shop struct {
	mu      sync.Mutex
	address string
	client  *http.Client
}

func (s *shop) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

func (s *shop) moveTo(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// call sends a request. err means that no whole answer came: the outcome is unknown.
func (s *shop) call(method, path, body, key string) (status int, answer map[string]any, header http.Header, err error) {
	request, err := http.NewRequest(method, s.at()+"/api/v1"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, nil, nil, err
	}
	return response.StatusCode, answer, response.Header, nil
}
