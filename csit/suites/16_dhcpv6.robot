*** Settings ***
Documentation       Real DHCPv6 clients get, keep, renew and lose addresses of the configured pools, and routers say whom to ask.
Resource            ../resources/coeus.resource
Library             DhcpClients
Suite Setup         Start One Node With A Pool Of Version 6
Suite Teardown      Stop Lab

*** Variables ***
${POOLS}            /restconf/config/dhcp_allocation_pool:dhcp_allocation_pool/
${LEASES}           ${OPERATIONAL}/coeus-dhcp:leases
${COUNTERS}         ${OPERATIONAL}/coeus-dhcp:counters
${LEVELS}           ${OPERATIONAL}/coeus-dhcp:pools

*** Test Cases ***
ISC Dhclient Gets An Address And Comes Back To It
    Create Pod    p1    blue    1
    Plug Pod    p1    blue    1
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/blue:p1    blue:p1
    ${first}=    Lease Of Dhclient V6    blue:p1
    Should Be Equal    ${first}[address]    fd00:1::3
    Should Contain    ${first}[leases]    fd00::53
    Should Contain    ${first}[leases]    blue.example
    Resource Should Say    ${LEASES}/ipv6-lease/blue:p1    "address":"fd00:1::3"    "duid":    "iaid":    "subnet":"fd00:1::/64"
    ${again}=    Lease Of Dhclient V6    blue:p1
    Should Be Equal    ${again}[address]    fd00:1::3

The Leased Address Is Routed
    Add Address V6    blue:p1    fd00:1::3/64
    Ping Should Pass    blue:p1    fd00:1::1
    Ping Should Pass    blue:p1    fe80::1%eth0
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries    "destPrefix":"fd00:1::3/128"

A Lease Is Renewed And Released
    Create Pod    p2    blue    1
    Plug Pod    p2    blue    1
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/blue:p2    blue:p2
    ${address}=    Renew And Release V6    blue:p2
    Should Be Equal    ${address}    fd00:1::4
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Exist    ${LEASES}/ipv6-lease/blue:p2
    Counter Should Come To    renew    1
    Counter Should Come To    release    1

A Router Says That Addresses Come By DHCP And Dhcpcd Asks
    Create Pod    p3    blue    1
    Plug Pod    p3    blue    1
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/blue:p3    blue:p3
    ${said}=    Lease Of Dhcpcd V6    blue:p3
    Should Contain    ${said}    Router Advertisement from fe80::1
    Should Contain    ${said}    REPLY6 received
    Should Contain    ${said}    fd00:1::4
    Resource Should Say    ${LEASES}/ipv6-lease/blue:p3    "address":"fd00:1::4"

A Router Says What Is On The Link And How Much It Carries And No Host Makes Itself An Address
    ${route}    ${mtu}=    Solicit Router    blue:p2
    Should Contain    ${route}    via fe80::1
    Should Be Equal As Integers    ${mtu}    1400
    ${routes}=    Routes V6    blue:p2
    Should Contain    ${routes}    fd00:1::/64 proto
    Create Pod    p9    blue    1
    Plug Pod    p9    blue    1
    Solicit Router    blue:p9
    ${own}=    Addresses V6    blue:p9
    Should Be Empty    ${own}

A Pod With An Address Of Its Own Is Given That
    Create Pod    p4    blue    1    fd00:1::40
    Plug Pod    p4    blue    1
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/blue:p4    blue:p4
    ${lease}=    Lease Of Dhclient V6    blue:p4
    Should Be Equal    ${lease}[address]    fd00:1::40

An Exhausted Pool Says So
    Create Pod    p5    blue    1
    Plug Pod    p5    blue    1
    ${said}=    Say DHCP6    blue:p5    SOLICIT
    Should Be Equal    ${said}[kind]    ADVERTISE
    Should Be Equal    ${said}[address]    fd00:1::5
    ${said}=    Say DHCP6    blue:p5    REQUEST    address=fd00:1::5    server=${said}[server]
    Should Be Equal    ${said}[kind]    REPLY
    Create Pod    p6    blue    1
    Plug Pod    p6    blue    1
    ${said}=    Say DHCP6    blue:p6    SOLICIT
    Should Be Equal    ${said}[kind]    ADVERTISE
    Should Be Equal As Integers    ${said}[ia-status]    2
    Counter Should Come To    exhausted    1
    Resource Should Come To Say    ${LEVELS}    "state":"exhausted"    "free":"0"

A Declined Address Rests
    ${said}=    Say DHCP6    blue:p5    SOLICIT
    ${said}=    Say DHCP6    blue:p5    DECLINE    address=fd00:1::5    server=${said}[server]
    Should Be Equal As Integers    ${said}[status]    0
    Resource Should Come To Say    ${LEASES}    "quarantined"    "address":"fd00:1::5"
    Put Pool V6    allocate-to=fd00:1::20
    ${said}=    Say DHCP6    blue:p5    SOLICIT
    Should Be Equal    ${said}[address]    fd00:1::6

What Is Sent To One Address Is Not Served That Way
    ${said}=    Say DHCP6    blue:p5    SOLICIT
    ${said}=    Say DHCP6    blue:p5    REQUEST    address=fd00:1::6    server=${said}[server]    to=fe80::1
    Should Be Equal As Integers    ${said}[status]    5
    Resource Should Not Exist    ${LEASES}/ipv6-lease/blue:p5

A Host That Comes Back Asks Whether It Is On Its Link
    ${said}=    Say DHCP6    blue:p6    CONFIRM    address=fd00:1::77
    Should Be Equal As Integers    ${said}[status]    0
    ${said}=    Say DHCP6    blue:p6    CONFIRM    address=fd00:2::1
    Should Be Equal As Integers    ${said}[status]    4

What Is No Message Is Counted
    ${said}=    Say DHCP6    blue:p6    SOLICIT    raw=0100    once=${True}
    Should Be Equal    ${said}    ${None}
    Counter Should Come To    malformed    1

Information Is Given Where No Addresses Are
    Put Stateless Pool    red
    Create Pod    p7    red    1    fd00:7::10
    Plug Pod    p7    red    1
    ${said}=    Say DHCP6    red:p7    INFORMATION-REQUEST
    Should Be Equal    ${said}[kind]    REPLY
    Should Be Equal    ${said}[options][23]    fd000000000000000000000000000053
    Create Pod    p8    red    1
    Plug Pod    p8    red    1
    ${said}=    Say DHCP6    red:p8    SOLICIT
    Should Be Equal As Integers    ${said}[ia-status]    2

Leases And The Server's Identifier Outlive The Controller
    ${before}=    Resource Should Exist    ${LEASES}/ipv6-lease/blue:p1
    ${server}=    Resource Should Exist    ${OPERATIONAL}/coeus-dhcp:server
    Stop Controller    KILL
    Start Controller
    Open Session
    ${after}=    Resource Should Exist    ${LEASES}/ipv6-lease/blue:p1
    Should Be Equal    ${after}    ${before}
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:switches    "connected":true
    ${said}=    Wait Until Keyword Succeeds    30 s    1 s    Said By Server    blue:p1
    Should Be Equal    ${said}[server]    ${server}[coeus-dhcp:server][duid]
    Should Be Equal    ${said}[address]    fd00:1::3    it is this port's, whoever asks from it

A Lease Ends With Its Pod
    Delete Pod    p1    blue
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Exist    ${LEASES}/ipv6-lease/blue:p1

What The Switches Hold Is What The Data Say
    Tables Should Be As From Scratch

*** Keywords ***
Start One Node With A Pool Of Version 6
    Start Lab And Session    1
    Put Pool V6

Put Pool V6
    [Arguments]    ${allocate-to}=fd00:1::5
    ${options}=    Evaluate    {"domain-search": ["blue.example"], "mtu": 1400}
    ${pool}=    Evaluate    {"subnet": "fd00:1::/64", "allocate-from": "fd00:1::3", "allocate-to": "${allocate-to}", "gateway": "fd00:1::1", "dns-servers": ["fd00::53"], "coeus-dhcp:lease-time": 3600, "coeus-dhcp:renewal-time": 5, "coeus-dhcp:options": $options}
    ${body}=    Evaluate    {"network": [{"network-id": "blue", "allocation-pool": [$pool]}]}
    ${answer}=    PUT On Session    coeus    ${POOLS}network/blue    json=${body}    expected_status=any
    Should Be True    ${answer.status_code} in (200, 201, 204)    ${answer.text}

Put Stateless Pool
    [Arguments]    ${network}
    ${body}=    Evaluate    {"network": [{"network-id": "${network}", "allocation-pool": [{"subnet": "fd00:7::/64", "dns-servers": ["fd00::53"]}]}]}
    ${answer}=    PUT On Session    coeus    ${POOLS}network/${network}    json=${body}    expected_status=any
    Should Be True    ${answer.status_code} in (200, 201, 204)    ${answer.text}

Counter Should Come To
    [Arguments]    ${name}    ${number}
    Wait Until Keyword Succeeds    30 s    200 ms    Counter Should Be At Least    ${name}    ${number}

Counter Should Be At Least
    [Arguments]    ${name}    ${number}
    ${counters}=    Resource Should Exist    ${COUNTERS}
    Should Be True    int('${counters}[coeus-dhcp:counters][${name}]') >= ${number}

Said By Server
    [Arguments]    ${pod}
    ${said}=    Say DHCP6    ${pod}    SOLICIT
    Should Not Be Equal    ${said}    ${None}
    RETURN    ${said}
