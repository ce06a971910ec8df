package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
)

// serve is a server for brigade's echo-server: a goroutine for each connection to the socket that
// is its standard input, from the addresses that descriptor 3 announces. It prints nothing, and ends
// when all connections have.
func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	connections := flags.Int("tasks", 1, "how many `connections`")
	bytes := flags.Int("message", 64, "size of a message in `bytes`")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0), "`GOMAXPROCS`")
	var load work
	flags.Uint64Var(&load.units, "work", 0, "`units` of work for each message")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*workers)
	listener, err := net.FileListener(os.Stdin)
	if err != nil {
		return err
	}
	announced := bufio.NewScanner(os.NewFile(3, "announced addresses"))
	ended := make(chan error, *connections)
	for range *connections {
		connection, err := accept(listener, announced)
		if err != nil {
			return err
		}
		go func() { ended <- echo(connection, make([]byte, *bytes), load) }()
	}
	// Nobody can connect any more.
	if err := errors.Join(listener.Close(), os.Stdin.Close()); err != nil {
		return err
	}
	for range *connections {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// accept returns the next connection from the address that is announced, and closes others: any
// process may connect.
func accept(listener net.Listener, announced *bufio.Scanner) (net.Conn, error) {
	if !announced.Scan() {
		reason := cmp.Or(announced.Err(), io.ErrUnexpectedEOF)
		return nil, fmt.Errorf("descriptor 3 announces no connection: %w", reason)
	}
	for {
		connection, err := listener.Accept()
		if err != nil || connection.RemoteAddr().String() == announced.Text() {
			return connection, err
		}
		connection.Close()
	}
}

// echo returns messages until the connection ends. One that begins with 0 sets the connection up,
// and has no work.
func echo(connection net.Conn, message []byte, load work) error {
	for {
		if _, err := io.ReadFull(connection, message); err != nil {
			return nil
		}
		if message[0] != 0 {
			load.perform()
		}
		if _, err := connection.Write(message); err != nil {
			return err
		}
	}
}
