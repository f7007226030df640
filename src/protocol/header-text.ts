const BASE64_HEAD = '=?base64?'

/** As it is where a header can carry it: visible ASCII with spaces inside; otherwise, or if it looks so already, Base64. */
export function headerText(text: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text) && !text.startsWith(BASE64_HEAD)
  return plain ? text : `${BASE64_HEAD}${Buffer.from(text.toWellFormed(), 'utf8').toString('base64')}?=`
}
