*** Settings ***
Documentation       Addresses outside, on two nodes that share a physical network with hosts which know nothing of pods: written
...                 by hand, and made of services ("Create Service" and "Delete Service"; TC2 and TC3).
Resource            ../resources/coeus.resource
Library             ../libraries/Floating.py
Library             ../libraries/Announcements.py
Suite Setup         Start Two Nodes And Hosts
Suite Teardown      Stop Lab

*** Variables ***
${NETWORKS}         ${CONFIG}/odl-nat:external-networks/networks
${INFO}             ${CONFIG}/odl-nat:floating-ip-info
${ROUTERS}          ${INFO}/router-ports
${SERVICES}         ${CONFIG}/service:service-information/services
${ADDRESSES}        ${OPERATIONAL}/coeus-external:floating-addresses
${SOURCE NAT}       ${CONFIG}/coeus-north-south:source-nat
${PORT INFO}        ${CONFIG}/odl-nat:floating-ip-port-info/floating-ip-id-to-port-mapping
${SUBNETS}          ${CONFIG}/odl-nat:external-subnets/subnets
${ID}               f1070000-0000-4000-8000-000000000007
${OTHER ID}         f1070000-0000-4000-8000-000000000008
${SUBNET}           5b1e0000-0000-4000-8000-000000000018
${SERVICE}          eeaffffb-0000-4000-8000-8af8bfaacdd9

*** Test Cases ***
Nobody Is Outside Before He Has An Address There
    Ping Should Pass    blue:p1    10.11.2.10    30
    Host Should Not Reach    host    203.0.113.7
    Ping Should Fail    blue:p1    203.0.113.9

An Address That Nobody Granted Is Refused By Name
    ${body}=    Floating Body    r1    203.0.113.99    blue:p1    10.11.1.10
    ${answer}=    PUT On Session    coeus    ${ROUTERS}/r1    json=${body}    expected_status=400
    Should Contain    ${answer.text}    203.0.113.99
    Should Contain    ${answer.text}    blue:p1
    Resource Should Not Exist    ${ROUTERS}/r1

A Floating Address Leads In
    Put Floating    r1    203.0.113.7    blue:p1    10.11.1.10
    Resource Should Come To Say    ${ADDRESSES}/floating-address/203.0.113.7    desired    blue:p1
    Host Should Reach    host    203.0.113.7
    ${bytes}=    Bytes To Pod    host    blue:p1    203.0.113.7
    Should Be Equal As Integers    ${bytes}    1048576

And Out
    Ping Should Pass    blue:p1    203.0.113.9
    ${seen}=    Source Seen By    host    blue:p1    203.0.113.9
    Should Be Equal    ${seen}    203.0.113.7
    ${bytes}=    Bytes To Host    blue:p1    host    203.0.113.9
    Should Be Equal As Integers    ${bytes}    1048576

Behind The Gateway As Well
    Ping Should Pass    blue:p1    198.51.100.2
    ${seen}=    Source Seen By    gateway    blue:p1    198.51.100.2
    Should Be Equal    ${seen}    203.0.113.7
    Resource Should Say    ${OPERATIONAL}/coeus-external:neighbours    203.0.113.1    203.0.113.9

It Has The MAC Address That Is Said Of Its Id
    [Documentation]    As netvirt takes it from floating-ip-port-info; who knew another one is told.
    ${body}=    Floating Body    r1    203.0.113.7    blue:p1    10.11.1.10
    ${body}=    With External Id    ${body}    ${ID}
    PUT On Session    coeus    ${ROUTERS}/r1    json=${body}    expected_status=200
    ${before}=    Neighbour Of    host    203.0.113.7
    Should Be Equal    ${before}    02:c0:cb:00:71:07
    ${body}=    Floating Port Body    ${ID}    fa:16:3e:00:00:07
    PUT On Session    coeus    ${PORT INFO}/${ID}    json=${body}    expected_status=201
    Resource Should Come To Say    ${ADDRESSES}/floating-address/203.0.113.7    desired    fa:16:3e:00:00:07
    # By an announcement: it asks for nobody whom it knows.
    Wait Until Keyword Succeeds    10 s    200 ms    Neighbour Should Be    host    203.0.113.7    fa:16:3e:00:00:07
    ${bytes}=    Bytes To Pod    host    blue:p1    203.0.113.7
    Should Be Equal As Integers    ${bytes}    1048576
    ${seen}=    Source Seen By    gateway    blue:p1    198.51.100.2
    Should Be Equal    ${seen}    203.0.113.7
    ${answers}=    Who Answers    host    203.0.113.7
    Should Be Equal As Integers    ${answers}    1
    ${body}=    Floating Port Body    ${OTHER ID}    fa:16:3e:00:00:07
    ${answer}=    PUT On Session    coeus    ${PORT INFO}/${OTHER ID}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    ${ID}
    ${body}=    Floating Port Body    ${OTHER ID}    no address
    ${answer}=    PUT On Session    coeus    ${PORT INFO}/${OTHER ID}    json=${body}    expected_status=400
    Should Contain    ${answer.text}    no address
    Resource Should Not Exist    ${PORT INFO}/${OTHER ID}

And Another One When That Is Taken Away
    DELETE On Session    coeus    ${PORT INFO}/${ID}    expected_status=200
    Wait Until Keyword Succeeds    10 s    200 ms    Neighbour Should Be    host    203.0.113.7    02:c0:cb:00:71:07
    Host Should Reach    host    203.0.113.7

A Further Subnet Of The Network Has Its Own Gateway
    [Documentation]    external-subnets: on the network's wire, with addresses and a router of its own.
    Add Host Outside    other gateway    1    300    198.18.0.1/24
    Make Host A Router    other gateway    198.51.100.9/32
    ${asked}=    Floating Body    r9    198.18.0.50    blue:p2    10.11.2.10
    PUT On Session    coeus    ${ROUTERS}/r9    json=${asked}    expected_status=400
    ${body}=    External Subnet Body    ${SUBNET}    198.18.0.0/24    198.18.0.1    198.18.0.50    198.18.0.60
    PUT On Session    coeus    ${SUBNETS}/${SUBNET}    json=${body}    expected_status=201
    PUT On Session    coeus    ${ROUTERS}/r9    json=${asked}    expected_status=201
    Resource Should Come To Say    ${ADDRESSES}/floating-address/198.18.0.50    desired    "subnet-id":"${SUBNET}"
    Host Should Reach    other gateway    198.18.0.50
    Ping Should Pass    blue:p2    198.51.100.9
    ${seen}=    Source Seen By    other gateway    blue:p2    198.51.100.9
    Should Be Equal    ${seen}    198.18.0.50
    ${bytes}=    Bytes To Pod    other gateway    blue:p2    198.18.0.50
    Should Be Equal As Integers    ${bytes}    1048576
    # The network's own addresses still leave by its own gateway.
    ${seen}=    Source Seen By    gateway    blue:p1    198.51.100.2
    Should Be Equal    ${seen}    203.0.113.7
    DELETE On Session    coeus    ${SUBNETS}/${SUBNET}    expected_status=200
    Resource Should Come To Say    ${ADDRESSES}/floating-address/198.18.0.50    pending    does not grant it
    Wait Until Keyword Succeeds    30 s    300 ms    Host Should Not Reach    other gateway    198.18.0.50
    DELETE On Session    coeus    ${ROUTERS}/r9    expected_status=200

Pods Of Another Namespace And Node Have Theirs
    Put Floating    r2    203.0.113.8    red:r2    10.11.2.20
    Host Should Reach    host    203.0.113.8
    ${seen}=    Source Seen By    host    red:r2    203.0.113.9
    Should Be Equal    ${seen}    203.0.113.8

One Node Answers For Each
    ${answers}=    Who Answers    host    203.0.113.7
    Should Be Equal As Integers    ${answers}    1
    ${answers}=    Who Answers    host    203.0.113.8
    Should Be Equal As Integers    ${answers}    1

Pods Reach Each Other's Addresses Outside
    Ping Should Pass    blue:p1    203.0.113.8
    Ping Should Pass    red:r2    203.0.113.7

Inside Nothing Is Different
    Ping Should Pass    blue:p1    10.11.2.10
    Ping Should Fail    red:r2    10.11.1.10
    Host Should Not Reach    host    10.11.1.10

Who Has No Address Does Not Get Out
    Ping Should Fail    blue:p2    203.0.113.9

An Address Has One Owner
    ${body}=    Floating Body    r3    203.0.113.7    blue:p2    10.11.2.10
    ${answer}=    PUT On Session    coeus    ${ROUTERS}/r3    json=${body}    expected_status=409
    Should Contain    ${answer.text}    blue:p1
    Should Contain    ${answer.text}    r1

An Address That Moves To Another Node Is Announced There
    ${before}=    Neighbour Of    host    203.0.113.7
    Put Floating    r1    203.0.113.7    blue:p2    10.11.2.10    200
    Host Should Reach    host    203.0.113.7
    ${bytes}=    Bytes To Pod    host    blue:p2    203.0.113.7
    Should Be Equal As Integers    ${bytes}    1048576
    ${after}=    Neighbour Of    host    203.0.113.7
    Should Be Equal    ${before}    ${after}
    ${answers}=    Who Answers    host    203.0.113.7
    Should Be Equal As Integers    ${answers}    1
    Ping Should Fail    blue:p1    203.0.113.9

An Address That Is Taken Away Leads Nowhere
    DELETE On Session    coeus    ${ROUTERS}/r1    expected_status=200
    DELETE On Session    coeus    ${ROUTERS}/r2    expected_status=200
    Wait Until Keyword Succeeds    30 s    300 ms    Host Should Not Reach    host    203.0.113.7
    Ping Should Fail    blue:p2    203.0.113.9
    FOR    ${node}    IN    1    2
        ${left}=    Flows Naming    ${node}    203.0.113.
        Should Be Empty    ${left}
    END

TC2 Attach A Pod To A Service
    [Documentation]    The service has an address outside; the pod that is attached to it is reached there, and goes out by it.
    ${body}=    Service Body    ${SERVICE}    web    blue    203.0.113.12
    PUT On Session    coeus    ${SERVICES}/${SERVICE}    json=${body}    expected_status=201
    Resource Should Not Say    ${INFO}    203.0.113.12
    ${body}=    Service Body    ${SERVICE}    web    blue    203.0.113.12    p1
    PUT On Session    coeus    ${SERVICES}/${SERVICE}    json=${body}    expected_status=200
    Resource Should Say    ${INFO}    blue:p1    10.11.1.10    203.0.113.12
    Host Should Reach    host    203.0.113.12
    ${seen}=    Source Seen By    host    blue:p1    203.0.113.9
    Should Be Equal    ${seen}    203.0.113.12
    Table Should Name    1    25    203.0.113.12
    Table Should Name    1    28    203.0.113.12

TC3 Remove A Pod From A Service
    ${body}=    Service Body    ${SERVICE}    web    blue    203.0.113.12
    PUT On Session    coeus    ${SERVICES}/${SERVICE}    json=${body}    expected_status=200
    Resource Should Not Say    ${INFO}    203.0.113.12
    Wait Until Keyword Succeeds    30 s    300 ms    Host Should Not Reach    host    203.0.113.12
    Ping Should Fail    blue:p1    203.0.113.9
    ${left}=    Flows Naming    1    203.0.113.
    Should Be Empty    ${left}

A Pod That Goes Takes Its Entry Along
    ${body}=    Service Body    ${SERVICE}    web    blue    203.0.113.12    p1
    PUT On Session    coeus    ${SERVICES}/${SERVICE}    json=${body}    expected_status=200
    Host Should Reach    host    203.0.113.12
    Delete Pod    p1    blue
    Resource Should Not Say    ${INFO}    203.0.113.12
    Wait Until Keyword Succeeds    30 s    300 ms    Host Should Not Reach    host    203.0.113.12
    DELETE On Session    coeus    ${SERVICES}/${SERVICE}    expected_status=200

Pods Without An Address Share That Of Their Node
    ${body}=    Shared Body    2    203.0.113.15
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=201
    FOR    ${pod}    IN    blue:p2    red:r2
        Ping Should Pass    ${pod}    203.0.113.9
        ${seen}=    Source Seen By    host    ${pod}    203.0.113.9
        Should Be Equal    ${seen}    203.0.113.15
        ${bytes}=    Bytes To Host    ${pod}    gateway    198.51.100.2
        Should Be Equal As Integers    ${bytes}    1048576
    END
    ${answers}=    Who Answers    host    203.0.113.15
    Should Be Equal As Integers    ${answers}    1
    Host Should Not Reach    host    203.0.113.15
    Ping Should Fail    blue:p2    10.11.2.20

And Have None When That Ends
    ${body}=    Evaluate    {"coeus-north-south:source-nat": {"mode": "none"}}
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    blue:p2    203.0.113.9

Pods Share An Address Of IPv6 As Well
    [Documentation]    The gateway and the host are found by neighbour solicitations, and find the address by them.
    Give Pod Both Versions    p2    blue    2    10.11.2.10    fd00:2::10
    Give Pod Both Versions    r2    red    2    10.11.2.20    fd00:2::20
    Ping Should Fail    blue:p2    2001:db8:113::9
    ${body}=    Shared Body    2    203.0.113.15    2001:db8:113::15
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    Resource Should Come To Say    ${ADDRESSES}/floating-address/2001:db8:113::15    desired    02:c6:00:00:00:15
    FOR    ${pod}    IN    blue:p2    red:r2
        Ping Should Pass    ${pod}    2001:db8:113::9
        ${seen}=    Source Seen By    host    ${pod}    2001:db8:113::9
        Should Be Equal    ${seen}    2001:db8:113::15
        Ping Should Pass    ${pod}    2001:db8:9::1
        ${seen}=    Source Seen By    gateway    ${pod}    2001:db8:9::1
        Should Be Equal    ${seen}    2001:db8:113::15
        ${bytes}=    Bytes To Host    ${pod}    gateway    2001:db8:9::1
        Should Be Equal As Integers    ${bytes}    1048576
    END
    Resource Should Say    ${OPERATIONAL}/coeus-external:neighbours    2001:db8:113::1    2001:db8:113::9
    ${answers}=    Who Answers    host    2001:db8:113::15
    Should Be Equal As Integers    ${answers}    1
    Host Should Not Reach    host    2001:db8:113::15
    Host Should Not Reach    host    fd00:2::10
    Ping Should Fail    blue:p2    fd00:2::20
    Ping Should Pass    blue:p2    203.0.113.9

Who Answers Without Saying His MAC Address Is Met
    Answer Without Option    host    2001:db8:113::77
    Ping Should Pass    blue:p2    2001:db8:113::77
    Resource Should Say    ${OPERATIONAL}/coeus-external:neighbours    2001:db8:113::77
    ${asked}=    End Answers Without Option
    Should Be True    ${asked} > 0
    [Teardown]    End Answers Without Option

An Address Of IPv6 Leads To Its Pod And Out
    Put Floating    r6    2001:db8:113::7    blue:p2    fd00:2::10
    Host Should Reach    host    2001:db8:113::7
    ${bytes}=    Bytes To Pod    host    blue:p2    2001:db8:113::7
    Should Be Equal As Integers    ${bytes}    1048576
    ${seen}=    Source Seen By    gateway    blue:p2    2001:db8:9::1
    Should Be Equal    ${seen}    2001:db8:113::7
    ${seen}=    Source Seen By    host    red:r2    2001:db8:113::9
    Should Be Equal    ${seen}    2001:db8:113::15

And Is Announced Where It Moves
    Create And Plug Pod    p6    blue    1    10.11.1.60    10.11.1.1
    Give Pod Both Versions    p6    blue    1    10.11.1.60    fd00:1::60
    Ping Should Pass    blue:p6    fd00:2::10
    ${before}=    Neighbour Of    host    2001:db8:113::7
    Put Floating    r6    2001:db8:113::7    blue:p6    fd00:1::60    200
    Host Should Reach    host    2001:db8:113::7
    ${bytes}=    Bytes To Pod    host    blue:p6    2001:db8:113::7
    Should Be Equal As Integers    ${bytes}    1048576
    ${after}=    Neighbour Of    host    2001:db8:113::7
    Should Be Equal    ${before}    ${after}
    Should Be Equal    ${after}    02:c6:00:00:00:07
    ${answers}=    Who Answers    host    2001:db8:113::7
    Should Be Equal As Integers    ${answers}    1

A Service Is Reached At An Address Of IPv6
    ${body}=    Service Body    ${SERVICE}    web    blue    2001:db8:113::12    p2
    ${port}=    Evaluate    {"name": "data", "coeus-service:protocol": "TCP", "port": 8088, "target-port": "8088"}
    ${body}=    Evaluate    {"service:services": [{**$body["service:services"][0], "service-ports": [$port]}]}
    PUT On Session    coeus    ${SERVICES}/${SERVICE}    json=${body}    expected_status=201
    Resource Should Come To Say    ${ADDRESSES}/floating-address/2001:db8:113::12    desired
    ${bytes}=    Bytes To Pod    host    blue:p2    2001:db8:113::12
    Should Be Equal As Integers    ${bytes}    1048576
    ${answers}=    Who Answers    host    2001:db8:113::12
    Should Be Equal As Integers    ${answers}    1
    DELETE On Session    coeus    ${SERVICES}/${SERVICE}    expected_status=200

IPv6 Has No Address Outside When That Ends
    ${body}=    Evaluate    {"coeus-north-south:source-nat": {"mode": "none"}}
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    blue:p2    2001:db8:113::9
    Ping Should Pass    blue:p6    2001:db8:113::9

A Restart Sends Nothing
    Put Floating    r2    203.0.113.8    red:r2    10.11.2.20
    Host Should Reach    host    203.0.113.8
    Stop Controller
    Start Controller
    Host Should Reach    host    203.0.113.8
    Host Should Reach    host    2001:db8:113::7
    Tables Should Be As From Scratch

*** Keywords ***
Neighbour Should Be
    [Arguments]    ${host}    ${address}    ${mac}
    ${now}=    Neighbour Of    ${host}    ${address}
    Should Be Equal    ${now}    ${mac}

Start Two Nodes And Hosts
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Map Physical Network    1    physnet:br-phy
    Map Physical Network    2    physnet:br-phy
    Add Host Outside    gateway    1    300    203.0.113.1/24
    Make Host A Router    gateway    198.51.100.2/32
    Add Host Outside    host    2    300    203.0.113.9/24    203.0.113.1
    Give Host Ipv6    gateway    2001:db8:113::1/64
    Make Host A Router    gateway    2001:db8:9::1/128
    Give Host Ipv6    host    2001:db8:113::9/64    2001:db8:113::1
    ${body}=    External Network Body    300
    ${id}=    External Network Id
    PUT On Session    coeus    ${NETWORKS}/${id}    json=${body}    expected_status=201
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    r2    red    2    10.11.2.20    10.11.2.1

Give Pod Both Versions
    [Arguments]    ${name}    ${namespace}    ${node}    ${v4}    ${v6}
    ${body}=    Dual Pod Body    ${name}    ${namespace}    ${node}    ${v4}    ${v6}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=200
    Add Address    ${namespace}:${name}    ${v6}/64    fe80::1

Put Floating
    [Arguments]    ${router}    ${external}    ${port}    ${internal}    ${expected}=201
    ${body}=    Floating Body    ${router}    ${external}    ${port}    ${internal}
    PUT On Session    coeus    ${ROUTERS}/${router}    json=${body}    expected_status=${expected}

Table Should Name
    [Arguments]    ${node}    ${table}    ${text}
    ${lines}=    Flows Naming    ${node}    ${text}
    ${found}=    Evaluate    [line for line in $lines if "table=${table}," in str(line) or "table=${table} " in str(line)]
    Should Not Be Empty    ${found}
