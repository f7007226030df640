const BASE64_HEAD = '=?base64?'

/** The text as a header value: unchanged if it is visible ASCII with inner spaces, else Base64 in MCP's notation. */
export function headerText(text: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text) && !text.startsWith(BASE64_HEAD)
  return plain ? text : `${BASE64_HEAD}${Buffer.from(text.toWellFormed(), 'utf8').toString('base64')}?=`
}
