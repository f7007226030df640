import { expect, test } from 'vitest'
import { isBlockedHost } from './blocked-address.ts'
import { isLoopbackHost } from './proxy.ts'

test.each([
  ['the metadata service of AWS, Azure, Google and others', '169.254.169.254'],
  ['any other link-local address', '169.254.0.23'],
  ['a link-local address with a zone', 'fe80::1%eth0'],
  ['AWS, IPv6', '[fd00:ec2::254]'],
  ['NAT64 with a zone', '64:ff9b::169.254.169.254%eth0'],
  ['Azure', '168.63.129.16'],
  ['Alibaba', '100.100.100.200'],
  ['Oracle', '192.0.0.192'],
  ['Oracle, IPv6', '[fd00:c1::a9fe:a9fe]'],
  ['Google, IPv6', '[fd20:ce::254]'],
  ['Scaleway, IPv6', '[fd00:42::42]'],
  ['IPv4-mapped', '[::ffff:169.254.169.254]'],
  ['IPv4-mapped, in hexadecimal and in full', '0:0:0:0:0:ffff:a9fe:a9fe'],
  ['IPv4-mapped Azure', '::ffff:168.63.129.16'],
  ['IPv4-translated', '[::ffff:0:a9fe:a9fe]'],
  ['IPv4-compatible', '[::169.254.169.254]'],
  ['NAT64', '[64:ff9b::169.254.169.254]'],
  ['NAT64 of Oracle', '[64:ff9b::c000:c0]'],
  ['NAT64 with a local prefix of 96 bits', '[64:ff9b:1::a9fe:a9fe]'],
  ['NAT64 with a local prefix of 64 bits', '[64:ff9b:1:2:a9:fea9:fe00:0]'],
  ['NAT64 with a local prefix of 56 bits', '[64:ff9b:1:12a9:fe:a9fe::]'],
  ['NAT64 with a local prefix of 48 bits', '[64:ff9b:1:a9fe:a9:fe00::]'],
  ['6to4', '[2002:a9fe:a9fe::1]'],
  ['6to4 of Azure', '2002:a83f:8110::'],
  ['Teredo, its server', '[2001:0:a9fe:a9fe::1]'],
  ['Teredo, its client', '[2001::5601:5601]'],
  ['ISATAP', '[2001:db8::5efe:a9fe:a9fe]'],
  ['ISATAP with a global address', '[2001:db8::200:5efe:a9fe:a9fe]'],
  ...['instance-data', 'instance-data.ec2.internal', 'metadata', 'metadata.goog'].map((name) => [name, name]),
  ...['metadata.google.internal', 'metadata.azure.internal', 'METADATA.Google.Internal.'].map((name) => [
    name,
    name,
  ]),
  ...['metadata.', 'instance-data.'].map((name) => [`${name} with a final dot`, name]),
] as [string, string][])('T4: a metadata service cannot be reached as %s (%s)', (_, host) => {
  expect(isBlockedHost(host)).toBe(true)
})

test.each([
  ...['127.0.0.1', '[::1]', '::', '10.0.0.1', '192.168.1.1', '100.64.0.1', '8.8.8.8', '168.63.129.17'],
  ...['[2002:808:808::1]', '[64:ff9b::808:808]', '[64:ff9b:1::808:808]', '[2001:db8::a9fe:a9fe]', 'fd00::1'],
  ...['[2001:4860:4860::8888]', 'example.com', 'metadata.example.com', 'my-metadata', 'localhost'],
])('the host %s is not blocked', (host) => {
  expect(isBlockedHost(host)).toBe(false)
})

test.each([
  ['127.0.0.1', true],
  ['[::ffff:127.0.0.1]', true],
  ['[64:ff9b::7f00:1]', false],
  ['[2002:7f00:1::]', false],
  ['[::127.0.0.1]', false],
])('%s is this computer: %s, because an address behind a gateway is not', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected)
})
