*** Settings ***
Documentation       What lies between pods and everything else, on two nodes: prefixes behind an interface, and the node
...                 itself, which reaches its pods of all namespaces and is reached by them, under anti-spoofing; and what is outside,
...                 which pods reach by source NAT.
Resource            ../resources/coeus.resource
Library             ../libraries/NorthSouth.py
Library             ../libraries/Services.py
Suite Setup         Start Two Nodes
Suite Teardown      Stop Lab

*** Variables ***
${SOURCE NAT}       ${CONFIG}/coeus-north-south:source-nat
${NEXT HOPS}        ${OPERATIONAL}/coeus-next-hop:next-hops
${SERVICE}          5e1f0000-0000-4000-8000-000000000015
${ADJACENCY}        ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/c1/adjacency

*** Test Cases ***
What Is Behind An Interface Is Not Reached Before It Is Routed
    Create Interface    c1    1    10.50.0.11
    Create Interface    c2    2    10.50.0.12
    Put Behind    c1    10.77.0.1/32
    Ping Should Pass    c2    10.50.0.11    30
    Ping Should Fail    c2    10.77.0.1
    ${answers}=    Ping From    c1    10.77.0.1    10.50.0.12
    Should Be Equal As Integers    ${answers}    0

An Extra Route Leads To The Port And Back
    ${body}=    Route Body    10.77.0.0/16    10.50.0.11
    PUT On Session    coeus    ${ADJACENCY}/10.77.0.0%2F16    json=${body}    expected_status=201
    Ping Should Pass    c2    10.77.0.1
    ${answers}=    Ping From    c1    10.77.0.1    10.50.0.12
    Should Be True    ${answers} >= 4
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries    10.77.0.0/16    "origin":"s"
    Resource Should Say    ${OPERATIONAL}/coeus-status:objects/object/c1    10.77.0.0/16

A Default Route Takes What Nobody Has
    Put Behind    c1    198.51.100.7/32
    Ping Should Fail    c2    198.51.100.7
    ${body}=    Route Body    0.0.0.0/0    10.50.0.11
    PUT On Session    coeus    ${ADJACENCY}/0.0.0.0%2F0    json=${body}    expected_status=201
    Ping Should Pass    c2    198.51.100.7

A Route That Goes Leads Nowhere
    DELETE On Session    coeus    ${ADJACENCY}/0.0.0.0%2F0    expected_status=200
    DELETE On Session    coeus    ${ADJACENCY}/10.77.0.0%2F16    expected_status=200
    Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    c2    10.77.0.1
    Ping Should Fail    c2    198.51.100.7
    Ping Should Pass    c2    10.50.0.11

Several Next Hops Share A Route
    [Documentation]    Three interfaces on two nodes have the address behind them; one route names all three.
    Create Interface    c3    2    10.50.0.13
    Create Interface    c4    1    10.50.0.14
    FOR    ${name}    IN    c1    c3    c4
        Put Behind    ${name}    10.88.0.1/32
        Answer With Name    ${name}    10.88.0.1
    END
    Ping Should Pass    c2    10.50.0.13
    Ping Should Pass    c2    10.50.0.14
    ${body}=    Route Body    10.88.0.0/24    10.50.0.11    10.50.0.13    10.50.0.14
    PUT On Session    coeus    ${ADJACENCY}/10.88.0.0%2F24    json=${body}    expected_status=201
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/c4    10.88.0.0/24
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1
    All Should Answer    ${answers}    c1    c3    c4
    Set Suite Variable    ${ANSWERS}    ${answers}
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries    10.88.0.0/24    192.168.200.1    192.168.200.2

A Next Hop That Does Not Answer Carries Nothing Until It Does
    [Documentation]    c3 answers no questions any more, while its port stays: its connections go to the others, and come back with it.
    Resource Should Say    ${NEXT HOPS}    10.50.0.11    10.50.0.13    10.50.0.14
    Resource Should Not Say    ${NEXT HOPS}    "silent"
    Next Hops Should Be Counted    answering=3    silent=0
    Answer No Questions    c3
    Resource Should Come To Say    ${NEXT HOPS}    "silent"
    Next Hops Should Be Counted    answering=2    silent=1
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1
    Only Those Of Should Move    ${ANSWERS}    ${answers}    c3
    All Should Answer    ${answers}    c1    c4
    Answer Questions Again    c3
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Say    ${NEXT HOPS}    "silent"
    Next Hops Should Be Counted    answering=3    silent=0
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1
    Should Be Equal    ${answers}    ${ANSWERS}

Next Hops Of IPv6 Are Asked As Well
    [Documentation]    c3 has not got its address yet, and so does not answer; c1 does.
    FOR    ${name}    ${address}    IN    c1    fd50::11    c3    fd50::13
        ${body}=    Evaluate    {"odl-l3vpn:adjacency": [{"ip_address": "${address}/128", "adjacency_type": "primary-adjacency"}]}
        ${key}=    Evaluate    "${address}/128".replace(":", "%3A").replace("/", "%2F")
        PUT On Session    coeus    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/${name}/adjacency/${key}    json=${body}    expected_status=201
    END
    Add Address    c1    fd50::11/64    fe80::1
    ${body}=    Route Body    fd88::/64    fd50::11    fd50::13
    PUT On Session    coeus    ${ADJACENCY}/fd88%3A%3A%2F64    json=${body}    expected_status=201
    Resource Should Come To Say    ${NEXT HOPS}    "silent"    fd50::11    fd50::13
    ${answer}=    GET On Session    coeus    ${NEXT HOPS}    expected_status=200
    ${silent}=    Evaluate    [hop["address"] for hop in $answer.json()["coeus-next-hop:next-hops"]["next-hop"] if hop["state"] == "silent"]
    Should Be Equal    ${silent}    ${{["fd50::13"]}}
    Add Address    c3    fd50::13/64    fe80::1
    Wait Until Keyword Succeeds    30 s    200 ms    Resource Should Not Say    ${NEXT HOPS}    "silent"
    DELETE On Session    coeus    ${ADJACENCY}/fd88%3A%3A%2F64    expected_status=200
    Resource Should Not Say    ${NEXT HOPS}    fd50::

A Next Hop That Goes Disturbs No Other
    DELETE On Session    coeus    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/c4    expected_status=200
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1
    Only Those Of Should Move    ${ANSWERS}    ${answers}    c4
    All Should Answer    ${answers}    c1    c3
    Resource Should Say    ${OPERATIONAL}/coeus-status:objects/object/c1    no interface of the VPN has that address
    DELETE On Session    coeus    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/c3    expected_status=200
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1
    All Should Answer    ${answers}    c1
    DELETE On Session    coeus    ${ADJACENCY}/10.88.0.0%2F24    expected_status=200
    Wait For Switches
    ${answers}=    Who Answers    c2    10.88.0.1    connections=${2}
    All Should Answer    ${answers}    nobody
    [Teardown]    End Answers

A Node Reaches Its Pods Of All Namespaces
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    r1    red    1    10.11.1.20    10.11.1.1
    Create And Plug Pod    p2    blue    2    10.11.2.10    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.10    30
    Route Pods Of Node    1    10.11.1.0/24
    Route Pods Of Node    2    10.11.2.0/24
    Node Should Reach    1    10.11.1.10
    Node Should Reach    1    10.11.1.20
    Node Should Reach    2    10.11.2.10

Pods Reach Their Node
    ${address}=    Node Address    1
    Ping Should Pass    blue:p1    ${address}
    Ping Should Pass    red:r1    ${address}
    ${other}=    Node Address    2
    Ping Should Fail    blue:p1    ${other}

Health Checks Pass Both Ways
    FOR    ${pod}    IN    blue:p1    red:r1
        ${bytes}=    Health Check    1    ${pod}
        Should Be Equal As Integers    ${bytes}    1048576
        ${bytes}=    Connect To Node    ${pod}    1
        Should Be Equal As Integers    ${bytes}    1048576
    END

Nobody Reaches His Node Under Another Address
    ${address}=    Node Address    1
    Put Behind    blue:p1    10.11.1.77/32
    ${answers}=    Ping From    blue:p1    10.11.1.77    ${address}
    Should Be Equal As Integers    ${answers}    0

Namespaces Stay Apart Though Their Node Reaches Both
    Node Forwards    1
    Ping Should Fail    red:r1    10.11.1.10
    Ping Should Fail    blue:p1    10.11.1.20

Nothing Leaves While Nothing Is Translated
    ${outside}=    Connect Outside    1    203.0.113.5
    Set Suite Variable    ${OUTSIDE}    ${outside}
    Outside Should Not Reach    203.0.113.5
    Ping Should Fail    blue:p1    ${OUTSIDE}

Pods Of All Namespaces Get Outside By Their Node's Address
    ${body}=    Source Nat Body    node    1    203.0.113.5
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=201
    FOR    ${pod}    IN    blue:p1    red:r1
        Ping Should Pass    ${pod}    ${OUTSIDE}
        ${bytes}=    Connect To Outside    ${pod}    ${OUTSIDE}
        Should Be Equal As Integers    ${bytes}    1048576
    END
    Ping Should Pass    blue:p1    10.11.2.10
    Node Should Reach    1    10.11.1.10

Nobody Comes In From Outside Unasked
    Outside Should Reach    198.51.100.1
    Outside Should Not Reach    203.0.113.5
    ${answers}=    Ping From    blue:p1    10.11.1.77    ${OUTSIDE}
    Should Be Equal As Integers    ${answers}    0

Namespaces Are No Outside Of Each Other
    Ping Should Fail    red:r1    10.11.1.10
    Ping Should Fail    blue:p1    10.11.1.20

Translation Ends When It Is Switched Off
    ${body}=    Source Nat Body    none
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    blue:p1    ${OUTSIDE}
    ${body}=    Source Nat Body    node    1    203.0.113.5
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    Ping Should Pass    blue:p1    ${OUTSIDE}

A Service May Stand For A Host Outside
    [Documentation]    An endpoint that is in no cluster: it is asked as if the client had asked it itself, by source NAT.
    Start Server Outside    8443    outside
    ${one}=    Create List    ${OUTSIDE}
    ${body}=    Service Body    ${SERVICE}    far    blue    10.96.0.77    https:TCP:443:8443
    PUT On Session    coeus    ${CONFIG}/service:service-information/services/${SERVICE}    json=${body}    expected_status=201
    ${body}=    Endpoints Body    ${SERVICE}    far    blue    ${one}    https:TCP:8443
    PUT On Session    coeus    ${CONFIG}/service:endpoints-info/endpoints/${SERVICE}    json=${body}    expected_status=201
    ${among}=    Create List    outside
    FOR    ${pod}    IN    blue:p1    red:r1
        Wait Until Keyword Succeeds    10 s    500 ms    Service Should Answer    ${pod}    10.96.0.77    443    among=${among}    times=4
        ${bytes}=    Transfer Through Service    ${pod}    10.96.0.77    443
        Should Be Equal As Integers    ${bytes}    1048576
    END
    DELETE On Session    coeus    ${CONFIG}/service:service-information/services/${SERVICE}    expected_status=200
    DELETE On Session    coeus    ${CONFIG}/service:endpoints-info/endpoints/${SERVICE}    expected_status=200
    [Teardown]    Services.Stop Servers

Pods Get Outside By IPv6
    [Documentation]    By the address that stands for a node without one of its own, and then by one that is routed to it.
    Give Pod Both Versions    p1    blue    10.11.1.10    fd00:1::10
    Give Pod Both Versions    r1    red    10.11.1.20    fd00:1::20
    ${outside}=    Connect Outside V6    1    fdc0:e5:4d::1    2001:db8:5::5
    Set Suite Variable    ${OUTSIDE V6}    ${outside}
    FOR    ${pod}    IN    blue:p1    red:r1
        Ping Should Pass    ${pod}    ${OUTSIDE V6}
        ${seen}=    Source Seen Outside    ${pod}    ${OUTSIDE V6}
        Should Contain    ${seen}    fdc0:e5:4d::1
    END
    ${body}=    Source Nat Body    node    1    203.0.113.5    2001:db8:5::5
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200
    FOR    ${pod}    IN    blue:p1    red:r1
        Ping Should Pass    ${pod}    ${OUTSIDE V6}
        ${bytes}=    Connect To Outside    ${pod}    ${OUTSIDE V6}
        Should Be Equal As Integers    ${bytes}    1048576
        ${seen}=    Source Seen Outside    ${pod}    ${OUTSIDE V6}
        Should Contain    ${seen}    2001:db8:5::5
    END
    Ping Should Pass    blue:p1    ${OUTSIDE}

IPv6 Keeps Namespaces Apart And The Outside Out
    Ping Should Fail    red:r1    fd00:1::10
    Ping Should Fail    blue:p1    fd00:1::20
    Outside Should Not Reach    2001:db8:5::5
    Put Behind    blue:p1    fd00:1::77/128
    ${answers}=    Ping From    blue:p1    fd00:1::77    ${OUTSIDE V6}
    Should Be Equal As Integers    ${answers}    0

Source Addresses That Nobody Can Have Are Refused
    ${body}=    Source Nat Body    node    1    203.0.113.5    fe80::5
    ${answer}=    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=400
    Should Contain    ${answer.text}    fe80::5

A Pod That Goes Is Reached No More
    Ping Should Pass    blue:p1    ${OUTSIDE}
    ${bytes}=    Connect To Outside    red:r1    ${OUTSIDE V6}
    ${remembered}=    Connections Outside    1    fd00:1::20
    Should Be True    ${remembered} > 0
    Begin Stream Outside    red:r1    ${OUTSIDE}
    ${packets}=    Stream Packets    red:r1
    Should Be True    ${packets} > 5
    Delete Pod    r1    red
    Wait Until Keyword Succeeds    30 s    300 ms    Node Should Not Reach    1    10.11.1.20

Its Connections Are Forgotten And No Others
    FOR    ${address}    IN    10.11.1.20    fd00:1::20
        Wait Until Keyword Succeeds    10 s    300 ms    Connections Outside Should Be    1    ${address}    0
    END
    ${others}=    Connections Outside    1    10.11.1.10
    Should Be True    ${others} > 0

Who Gets Its Address Does Not Inherit Them
    Unplug Pod    r1    red
    Create And Plug Pod    r2    red    1    10.11.1.20    10.11.1.1
    Node Should Reach    1    10.11.1.20
    ${packets}=    Stream Packets    red:r2
    Should Be Equal As Integers    ${packets}    0
    Ping Should Pass    red:r2    ${OUTSIDE}
    [Teardown]    End Stream Outside

The Switches Hold What The Data Ask For
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    ${elan}=    Evaluate    {"elan:elan-instance": [{"elan-instance-name": "lan", "segment-type": "elan:segment-type-vxlan", "segmentation-id": 5001}]}
    PUT On Session    coeus    ${CONFIG}/elan:elan-instances/elan-instance/lan    json=${elan}    expected_status=201
    ${vpn}=    Evaluate    {"l3vpn:vpn-instance": [{"vpn-instance-name": "corp", "ipv4-family": {"route-distinguisher": ["7:1"]}}]}
    PUT On Session    coeus    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/corp    json=${vpn}    expected_status=201

Next Hops Should Be Counted
    [Documentation]    As /metrics tells them.
    [Arguments]    &{states}
    ${page}=    GET On Session    coeus    /metrics    expected_status=200
    FOR    ${state}    ${count}    IN    &{states}
        Should Contain    ${page.text}    coeus_next_hops{state="${state}"} ${count}\n
    END

Give Pod Both Versions
    [Arguments]    ${name}    ${namespace}    ${v4}    ${v6}
    ${body}=    Dual Pod Body    ${name}    ${namespace}    1    ${v4}    ${v6}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=200
    Add Address    ${namespace}:${name}    ${v6}/64    fe80::1

Create Interface
    [Documentation]    An interface written by hand in lan and corp, and its port on a node.
    [Arguments]    ${name}    ${node}    ${address}
    ${parts}=    Interface Bodies    ${name}    lan    corp    ${address}    10.50.0.1
    FOR    ${part}    IN    @{parts}
        PUT On Session    coeus    ${CONFIG}/${part}[0]    json=${part}[1]    expected_status=201
    END
    Plug Interface    ${name}    ${node}    ${address}/24    10.50.0.1
