*** Settings ***
Documentation       Real DHCP clients get, keep and lose leases of the configured pools; what no client says is said by hand.
Resource            ../resources/coeus.resource
Library             DhcpClients
Library             Events
Suite Setup         Start One Node With A Pool
Suite Teardown      Stop Lab

*** Variables ***
${POOLS}            /restconf/config/dhcp_allocation_pool:dhcp_allocation_pool/
${LEASES}           ${OPERATIONAL}/coeus-dhcp:leases
${COUNTERS}         ${OPERATIONAL}/coeus-dhcp:counters
${POLICY}           9011c700-0000-4000-8000-000000000007
${LEVELS}           ${OPERATIONAL}/coeus-dhcp:pools

*** Test Cases ***
A Pod Without An Address Gets One From The Pool
    Create Pod    p1    blue    1
    Plug Pod    p1    blue    1
    ${address}=    Get Lease    blue:p1
    Should Be Equal    ${address}    192.168.10.3
    ${leases}=    Resource Should Exist    ${LEASES}/lease/blue:p1
    Should Be Equal    ${leases}[coeus-dhcp:lease][0][address]    192.168.10.3
    Should Be Equal    ${leases}[coeus-dhcp:lease][0][state]    bound

The Leased Address Is Routed
    Readdress Pod    blue:p1    192.168.10.3/24    192.168.10.2
    Ping Should Pass    blue:p1    192.168.10.2

A Policy That Denies Everything Does Not Deny This
    ${body}=    Evaluate    {"k8s:network-policy": [{"uuid": "${POLICY}", "name": "deny", "coeus-policy:namespace": "blue", "network-policy-spec": {"policy-types": ["ingress", "egress"]}}]}
    PUT On Session    coeus    url=/rests/data/k8s:k8s/network-policies/network-policy=${POLICY}    json=${body}    params=wait=programmed    expected_status=201
    Ping Should Fail    blue:p1    192.168.10.2
    ${address}=    Get Lease    blue:p1
    Should Be Equal    ${address}    192.168.10.3
    [Teardown]    DELETE On Session    coeus    url=/rests/data/k8s:k8s/network-policies/network-policy=${POLICY}    expected_status=any

A Pod With An Address Of Its Own Is Given That
    Create Pod    p2    blue    1    192.168.10.40
    Plug Pod    p2    blue    1
    ${address}=    Get Lease    blue:p2
    Should Be Equal    ${address}    192.168.10.40

A Lease Is Renewed And Released
    Create Pod    p3    blue    1
    Plug Pod    p3    blue    1
    ${address}=    Renew And Release    blue:p3
    Should Be Equal    ${address}    192.168.10.4
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Exist    ${LEASES}/lease/blue:p3

An Exhausted Pool Offers Nothing And Says So
    Create Pod    p4    blue    1
    Plug Pod    p4    blue    1
    ${address}=    Get Lease    blue:p4
    Should Be Equal    ${address}    192.168.10.4
    Create Pod    p5    blue    1
    Plug Pod    p5    blue    1
    Run Keyword And Expect Error    *got no lease*    Get Lease    blue:p5
    Wait Until Keyword Succeeds    30 s    200 ms    Counter Should Be At Least    exhausted    1
    Resource Should Come To Say    ${LEVELS}    "state":"exhausted"    "free":"0"

A Wider Pool Serves Who Waited
    Put Pool    blue    allocate-to=192.168.10.20
    Resource Should Come To Say    ${LEVELS}    "state":"normal"
    ${address}=    Get Lease    blue:p5
    Should Be Equal    ${address}    192.168.10.5

A Pool That Runs Low Says So
    [Teardown]    Close Readers
    ${password}=    Controller Password
    ${reader}=    Open Event Stream    ${CONTROLLER}/streams/coeus-JSON    admin    ${password}
    Put Pool    blue    allocate-to=192.168.10.20    low-water=${95}
    ${event}=    Next Event    ${reader}    pool-state-changed
    Should Contain    ${event}[data]    "old-state":"normal"
    Should Contain    ${event}[data]    "state":"low"
    Should Contain    ${event}[data]    192.168.10.0/24
    Resource Should Come To Say    ${LEVELS}    "state":"low"
    Put Pool    blue    allocate-to=192.168.10.20
    ${event}=    Next Event    ${reader}    pool-state-changed
    Should Contain    ${event}[data]    "state":"normal"

Options Are Those Of The Pool
    ${options}=    Evaluate    {"domain-name": "blue.example", "ntp-server": ["192.168.10.9"], "mtu": 1400, "boot-file": "kernel", "next-server": "192.168.10.8", "classless-route": [{"destination": "10.0.0.0/8", "next-hop": "192.168.10.7"}]}
    Put Pool    blue    allocate-to=192.168.10.20    lease-time=${3600}    options=${options}
    ${wanted}=    Evaluate    {"55": "01030f1a2a79", "61": "0102030405"}
    ${said}=    Say DHCP    blue:p5    DISCOVER    options=${wanted}
    Should Be Equal    ${said}[kind]    OFFER
    Should Be Equal    ${said}[address]    192.168.10.5
    Should Be Equal    ${said}[next-server]    192.168.10.8
    Should Be Equal    ${said}[file]    kernel
    Should Be Equal    ${said}[options][51]    00000e10
    Should Be Equal    ${said}[options][1]    ffffff00
    Should Be Equal    ${said}[options][26]    0578
    Should Be Equal    ${said}[options][42]    c0a80a09
    Should Be Equal    ${said}[options][121]    080ac0a80a0700c0a80a02
    Should Be Equal    ${said}[options][61]    0102030405
    Dictionary Should Not Contain Key    ${said}[options]    3

ISC Dhclient Gets A Lease And Comes Back To It
    Create Pod    p6    blue    1
    Plug Pod    p6    blue    1
    ${first}=    Lease Of Dhclient    blue:p6
    Should Be Equal    ${first}[address]    192.168.10.6
    Should Contain    ${first}[leases]    option domain-name "blue.example"
    ${again}=    Lease Of Dhclient    blue:p6
    Should Be Equal    ${again}[address]    192.168.10.6
    Should Not Contain    ${again}[said]    DHCPDISCOVER

Dhcpcd Gets A Lease
    Create Pod    p7    blue    1
    Plug Pod    p7    blue    1
    ${address}=    Lease Of Dhcpcd    blue:p7
    Should Be Equal    ${address}    192.168.10.7

A Declined Address Rests
    Create Pod    p8    blue    1
    Plug Pod    p8    blue    1
    ${address}=    Get Lease    blue:p8
    Should Be Equal    ${address}    192.168.10.8
    Say DHCP    blue:p8    DECLINE    requested=192.168.10.8    server=192.168.10.2    once=${True}
    Resource Should Come To Say    ${LEASES}    "quarantined"    "address":"192.168.10.8"
    ${address}=    Get Lease    blue:p8
    Should Be Equal    ${address}    192.168.10.9

Coming Back With A Wrong Address Is Refused
    ${said}=    Say DHCP    blue:p8    REQUEST    requested=10.1.1.1
    Should Be Equal    ${said}[kind]    NAK
    Create Pod    p9    blue    1
    Plug Pod    p9    blue    1
    ${said}=    Say DHCP    blue:p9    REQUEST    requested=192.168.10.15    once=${True}
    Should Be Equal    ${said}    ${None}

Inform Is Answered With Options
    ${said}=    Say DHCP    blue:p2    INFORM    ciaddr=192.168.10.40    source=192.168.10.40
    Should Be Equal    ${said}[kind]    ACK
    Should Be Equal    ${said}[address]    0.0.0.0
    Should Be Equal    ${said}[to]    192.168.10.40
    Dictionary Should Not Contain Key    ${said}[options]    51

A Reserved Address Is Its Client's
    ${mac}=    Pod Mac    blue:p9
    ${kept}=    Evaluate    [{"address": "192.168.10.99", "mac-address": "${mac}"}]
    Put Pool    blue    allocate-to=192.168.10.20    reservation=${kept}
    ${address}=    Get Lease    blue:p9
    Should Be Equal    ${address}    192.168.10.99

A Relay Agent's Clients Are Served
    ${said}=    Say DHCP    blue:p9    DISCOVER    chaddr=02:00:00:00:99:01    giaddr=10.9.0.1    source=192.168.10.99    once=${True}
    Should Be Equal    ${said}    ${None}
    ${relays}=    Create List    blue:p9
    Put Pool    blue    10.9.0.0/24    10.9.0.1    10.9.0.10    10.9.0.11    relay-agent=${relays}
    ${options}=    Evaluate    {"82": "010403040506"}
    Wait Until Keyword Succeeds    30 s    200 ms    Relayed Request Should Be Offered    10.9.0.10    ${options}
    ${said}=    Say DHCP    blue:p9    REQUEST    chaddr=02:00:00:00:99:01    giaddr=10.9.0.1    source=192.168.10.99    requested=10.9.0.10    server=10.9.0.1    options=${options}
    Should Be Equal    ${said}[kind]    ACK
    Should Be Equal    ${said}[to]    10.9.0.1
    Should Be Equal As Integers    ${said}[port]    67
    Should Be Equal    ${said}[options][82]    010403040506
    Resource Should Say    ${LEASES}    "relayed-lease"    "02:00:00:00:99:01"

A Shrunken Pool Keeps Its Leases And Gives Out No More Of Them
    Put Pool    blue    allocate-to=192.168.10.5    lease-time=${3600}
    ${said}=    Say DHCP    blue:p8    REQUEST    ciaddr=192.168.10.9    source=192.168.10.9
    Should Be Equal    ${said}[kind]    ACK
    Should Be Equal    ${said}[address]    192.168.10.9
    ${left}=    Evaluate    int('${said}[options][51]', 16)
    Should Be True    ${left} <= 3600
    ${again}=    Say DHCP    blue:p8    REQUEST    ciaddr=192.168.10.9    source=192.168.10.9
    Should Be True    int('${again}[options][51]', 16) <= ${left}
    Create Pod    p10    blue    1
    Plug Pod    p10    blue    1
    ${said}=    Say DHCP    blue:p10    DISCOVER    once=${True}
    Should Be Equal    ${said}    ${None}
    Resource Should Say    ${LEASES}    "192.168.10.9"

A Lease Ends With Its Pod
    Delete Pod    p1    blue
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Exist    ${LEASES}/lease/blue:p1

Pools That Cannot Be Served Are Refused
    Pool Should Be Refused    allocate-from 192.168.10.9 is above allocate-to    allocate-from=192.168.10.9    allocate-to=192.168.10.3
    Pool Should Be Refused    gateway 192.168.10.2 is inside the range    allocate-from=192.168.10.1    allocate-to=192.168.10.3
    Pool Should Be Refused    allocate-to 192.168.11.3 is not in the subnet    allocate-to=192.168.11.3
    Pool Should Be Refused    gateway 192.168.10.255 is the subnet's own address    gateway=192.168.10.255
    ${kept}=    Evaluate    [{"address": "192.168.10.8", "mac-address": "02:00:00:00:00:01"}, {"address": "192.168.10.9", "mac-address": "02:00:00:00:00:01"}]
    Pool Should Be Refused    has two reservations    reservation=${kept}

A Pool Without A Gateway Answers At Its First Address
    [Documentation]    No router is told. Clients renew at the server's address, which has to answer, here of another /24 than theirs.
    ${network}=    Evaluate    {"dhcp_allocation_pool:network": [{"network-id": "open"}]}
    PUT On Session    coeus    ${POOLS}network/open    json=${network}    expected_status=201
    Put Pool    open    subnet=10.77.16.0/20    gateway=${EMPTY}    allocate-from=10.77.17.5    allocate-to=10.77.17.9
    Create Pod    q1    open    1
    Plug Pod    q1    open    1
    ${lease}=    Lease Of Dhclient    open:q1
    Should Be Equal    ${lease}[address]    10.77.17.5
    Should Contain    ${lease}[leases]    dhcp-server-identifier 10.77.16.1
    Should Not Contain    ${lease}[leases]    option routers
    Readdress Pod    open:q1    10.77.17.5/20    10.77.16.1
    Ping Should Pass    open:q1    10.77.16.1

Leases Outlive The Controller
    ${before}=    Resource Should Exist    ${LEASES}
    Stop Controller    KILL
    Start Controller
    Open Session
    ${after}=    Resource Should Exist    ${LEASES}
    Should Be Equal    ${after}    ${before}
    Put Pool    blue    allocate-to=192.168.10.20
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:switches    "connected":true
    ${again}=    Wait Until Keyword Succeeds    90 s    1 s    Lease Of Dhclient    blue:p6
    Should Be Equal    ${again}[address]    192.168.10.6    lower ones are free: it is remembered

*** Keywords ***
Start One Node With A Pool
    Start Lab And Session    1
    ${pool}=    Evaluate    {"dhcp_allocation_pool:network": [{"dhcp_allocation_pool:allocation-pool": [{"dhcp_allocation_pool:subnet": "192.168.10.0/24", "dhcp_allocation_pool:allocate-to": "192.168.10.4", "dhcp_allocation_pool:gateway": "192.168.10.2", "dhcp_allocation_pool:allocate-from": "192.168.10.3"}], "dhcp_allocation_pool:network-id": "blue"}]}
    PUT On Session    coeus    ${POOLS}    json=${pool}    expected_status=201

Put Pool
    [Arguments]    ${network}    ${subnet}=192.168.10.0/24    ${gateway}=192.168.10.2    ${allocate-from}=192.168.10.3    ${allocate-to}=192.168.10.4    ${status}=any    &{more}
    ${pool}=    Create Dictionary    subnet=${subnet}    gateway=${gateway}    allocate-from=${allocate-from}    allocate-to=${allocate-to}    &{more}
    ${entry}=    Evaluate    {"allocation-pool": [{k if k in ("subnet", "gateway", "allocate-from", "allocate-to") else "coeus-dhcp:" + k: v for k, v in $pool.items() if v}]}
    ${key}=    Evaluate    $subnet.replace("/", "%2F")
    ${answer}=    PUT On Session    coeus    ${POOLS}network/${network}/allocation-pool/${key}    json=${entry}    expected_status=${status}
    IF    "${status}" == "any"    Should Be True    ${answer.status_code} in (200, 201, 204)    ${answer.text}
    RETURN    ${answer}

Pool Should Be Refused
    [Arguments]    ${reason}    &{pool}
    ${answer}=    Put Pool    blue    status=400    &{pool}
    Should Contain    ${answer.text}    ${reason}
    Should Contain    ${answer.text}    pool 192.168.10.0/24 of network blue

Counter Should Be At Least
    [Arguments]    ${name}    ${number}
    ${counters}=    Resource Should Exist    ${COUNTERS}
    Should Be True    int('${counters}[coeus-dhcp:counters][${name}]') >= ${number}

Relayed Request Should Be Offered
    [Arguments]    ${address}    ${options}
    ${said}=    Say DHCP    blue:p9    DISCOVER    chaddr=02:00:00:00:99:01    giaddr=10.9.0.1    source=192.168.10.99    options=${options}
    Should Be Equal    ${said}[address]    ${address}
