// Package frame makes the raw words of one thread small, and gives them back:
// the encoding of the bodies of a profile's frames.
//
// In a nutshell: encoder and decoder keep the same model of the program. It
// predicts the next block from the ones before, and each word of a block (each
// "slot") from what that slot held the last time: by its stride, by the stack
// pointer, by the word before, or by what followed its last value earlier. Only
// mispredictions are written: how many predictions were right, then a class that
// says how the right value differs, then the bytes of the difference. Classes
// and payloads go to streams of their own, which zstd then makes smaller.
//
//	words   ──► ids, address words, value words, times, branches, marks
//	        ──► a stream each (stream.go) ──► zstd ──► body
//
// Version 3 of the encoding, which is the one for speed, predicts the blocks alone, and
// writes words as differences to the block's last execution (dense.go).
//
// On recordings of bzip2, gzip, python3 and cc1 the smallest result has 0.05 to 0.2
// bytes an instruction. An independent predictor in front of zstd was chosen
// over zstd on the raw words because it is four times as fast and five times as
// small; over an arithmetic coder because mispredictions cost a branch either way
// and a byte each is small enough.
//
// Every frame starts with an empty model, so that each can be decoded alone and
// a look-up in an index is all that seeking costs. Carrying the model from frame
// to frame was measured: with a million executions a frame it saves 1 to 5 %.
//
// Encoder and Decoder belong to one goroutine each. Shapes must outlive them.
// emit encodes; abp decodes. The package knows neither files nor what the words
// mean beyond what a Shape says, and does not count.
package frame
