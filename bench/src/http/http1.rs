//! HTTP/1.1 by hand: what a client sends, and where an answer ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use memchr::memmem::find;

use crate::BenchResult;

/// An answer that is there as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Where its body begins.
    pub(crate) body: usize,
    /// Where it ends.
    pub(crate) end: usize,
}

/// A request with a JSON body. More headers are lines with their ends.
pub(crate) fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The answer that these bytes begin with. `None`: there is more to come.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Reply>, String> {
    let Some(head) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..head]).map_err(|error| error.to_string())?;
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| format!("no status: {text}"))?;
    let body = head + 4;
    let end = match header(text, "content-length") {
        Some(length) => length.parse().ok().map(|length: usize| body + length),
        None if header(text, "transfer-encoding") == Some("chunked") => {
            match find_chunked_end(bytes, body)? {
                Some(end) => Some(end),
                None => return Ok(None),
            }
        }
        None => None,
    };
    let end = end.ok_or_else(|| format!("no length: {text}"))?;
    Ok((end <= bytes.len()).then_some(Reply { status, body, end }))
}

/// The value of a header.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Where a body of chunks ends that begins here.
fn find_chunked_end(bytes: &[u8], start: usize) -> Result<Option<usize>, String> {
    let mut at = start;
    loop {
        let Some(line) = bytes.get(at..).and_then(|rest| find(rest, b"\r\n")) else { return Ok(None) };
        let size = std::str::from_utf8(&bytes[at..at + line]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok()).ok_or("not a chunk")?;
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

/// Sends one request on a connection of its own; the whole answer.
pub(crate) fn send_and_receive(address: SocketAddr, request: &[u8]) -> BenchResult<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request)?;
    let (mut answer, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err("the server hung up".into());
        }
        answer.extend_from_slice(&chunk[..read]);
        if let Some(reply) = parse(&answer)? {
            let text = String::from_utf8(answer)?;
            let is_good = (200..300).contains(&reply.status);
            return if is_good { Ok(text) } else { Err(text.into()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_ends_where_its_head_says() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(parse(whole), Ok(Some(Reply { status: 200, body: 38, end: 40 })));
        let chunks =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\na\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(parse(chunks), Ok(Some(Reply { status: 200, body: 47, end: chunks.len() })));
        for part in [&whole[..], chunks] {
            for end in 0..part.len() {
                assert_eq!(parse(&part[..end]), Ok(None), "{end}");
            }
        }
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse(b"nonsense\r\n\r\n").is_err());
    }
}
